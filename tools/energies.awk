# SPDX-License-Identifier: Apache-2.0
# Means and drift of the columns of an energies.xvg. Variables: atoms, and settle (ps): earlier rows are
# left out, because a start from rounded coordinates takes some steps to settle. The heading says so.

/^@ +s[0-9]+ +legend/ {
  column = $2
  sub(/^s/, "", column)
  label = $0
  sub(/^[^"]*"/, "", label)
  sub(/".*$/, "", label)
  name[column + 2] = label
  next
}
/^[#@]/ || NF == 0 { next }
{ all_rows++ }
$1 + 0 >= settle {
  rows++
  if (columns < NF) columns = NF
  for (i = 2; i <= NF; i++) {
    value[rows, i] = $i
    sum[i] += $i
  }
  time[rows] = $1
  time_sum += $1
}
END {
  if (rows < 3) {
    print "energies.awk: fewer than three rows after " settle " ps" > "/dev/stderr"
    exit 1
  }
  printf "means over %d of %d samples, %g to %g ps", rows, all_rows, time[1], time[rows]
  if (rows < all_rows)
    printf " (the start settles until %g ps; md.log averages over all samples)", settle
  printf "\n\n%-18s %-7s %16s %16s\n", "", "unit", "mean", "fluctuation"
  for (i = 2; i <= columns; i++) {
    mean = sum[i] / rows
    squares = 0
    for (r = 1; r <= rows; r++) squares += (value[r, i] - mean) ^ 2
    printf "%-18s %-7s %16.8g %16.4g\n", name[i], unit(name[i]), mean, sqrt(squares / (rows - 1))
    if (name[i] ~ /^Conserved/) drift(i, mean)
  }
  if (slope != "")
    printf "\ndrift of the conserved energy: %.3g kJ/mol per ps, %.3g per atom (%g to %g ps)\n",
      slope, slope / atoms, time[1], time[rows]
}

function unit(label) {
  if (label == "Temperature") return "K"
  if (label ~ /^Pres/) return "bar"
  if (label ~ /rmsd$/) return "1" # of lengths over lengths
  return "kJ/mol"
}

# The slope of the straight line of least squares.
function drift(i, mean,    r, t, above, below) {
  for (r = 1; r <= rows; r++) {
    t = time[r] - time_sum / rows
    above += t * (value[r, i] - mean)
    below += t * t
  }
  slope = above / below
}
