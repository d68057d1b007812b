#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the no-core input of throng ci from relative matrix elements.

    tools/relative_snt.py jisp16_rel.dat --protons 3 --neutrons 4 --nmax 4 --hw 20 \\
        --coulomb -o li7.snt
    throng ci solve -i li7.snt --protons 3 --neutrons 4 --nmax 4 --hw 20 --beta-cm 10

The input (RELATIVE LSJT: oscillator functions of the relative motion, positive near the origin,
coupled to L, S, J, T; scalar, MeV) holds the interaction for one hw. Written are, between two
nucleons in the laboratory frame, the interaction, the kinetic energy without the centre of mass,
(2 hw / A) times that of the relative motion, and with --coulomb e^2/r between protons: all that
protons, neutrons and nmax need. Standard Python; 7Li takes a
second at Nmax 4, and ten at Nmax 6."""

import argparse
import functools
import itertools
import math
import os
import sys
from fractions import Fraction
from math import factorial, sqrt

HBAR_C = 197.327  # MeV fm
NUCLEON = 938.92  # MeV, the mean of proton and neutron
COULOMB = HBAR_C / 137.036  # e^2, MeV fm


# --- coupling coefficients; angular momenta are doubled ---


def triangle(a, b, c):
    return abs(a - b) <= c <= a + b and (a + b + c) % 2 == 0


@functools.lru_cache(None)
def clebsch(j1, m1, j2, m2, j, m):
    """<j1 m1 j2 m2 | j m>, Racah's sum."""
    if m1 + m2 != m or not triangle(j1, j2, j):
        return 0.0
    if abs(m1) > j1 or abs(m2) > j2 or abs(m) > j:
        return 0.0

    def half(x):
        return factorial(x // 2)

    front = Fraction(
        (j + 1) * half(j1 + j2 - j) * half(j1 - j2 + j) * half(j2 - j1 + j), half(j1 + j2 + j + 2)
    )
    for up in (j1 + m1, j1 - m1, j2 + m2, j2 - m2, j + m, j - m):
        front *= half(up)
    total = Fraction(0)
    for k in range((j1 + j2 - j) // 2 + 1):
        rest = (
            (j1 + j2 - j) // 2 - k,
            (j1 - m1) // 2 - k,
            (j2 + m2) // 2 - k,
            (j - j2 + m1) // 2 + k,
            (j - j1 - m2) // 2 + k,
        )
        if min(rest) >= 0:
            total += Fraction((-1) ** k, factorial(k) * math.prod(map(factorial, rest)))
    return sqrt(front) * float(total)


@functools.lru_cache(None)
def delta(a, b, c):
    x, y, z = (a + b - c) // 2, (a - b + c) // 2, (b - a + c) // 2
    return Fraction(factorial(x) * factorial(y) * factorial(z), factorial((a + b + c) // 2 + 1))


@functools.lru_cache(None)
def six_j(a, b, c, d, e, f):
    triads = ((a, b, c), (a, e, f), (d, b, f), (d, e, c))
    if not all(triangle(*t) for t in triads):
        return 0.0
    lower = [sum(t) // 2 for t in triads]
    upper = [(a + b + d + e) // 2, (b + c + e + f) // 2, (a + c + d + f) // 2]
    total = 0
    for t in range(max(lower), min(upper) + 1):
        below = [factorial(t - x) for x in lower] + [factorial(x - t) for x in upper]
        total += Fraction((-1) ** t * factorial(t + 1), math.prod(below))
    return sqrt(math.prod(delta(*t) for t in triads)) * float(total)


@functools.lru_cache(None)
def nine_j(a, b, c, d, e, f, g, h, i):
    rows = ((a, b, c), (d, e, f), (g, h, i), (a, d, g), (b, e, h), (c, f, i))
    if not all(triangle(*t) for t in rows):
        return 0.0
    total = 0.0
    for x in range(max(abs(a - i), abs(d - h), abs(b - f)), min(a + i, d + h, b + f) + 1):
        if (a + i + x) % 2 == 0:
            total += (
                (-1) ** x
                * (x + 1)
                * six_j(a, b, c, f, i, x)
                * six_j(d, e, f, b, x, h)
                * six_j(g, h, i, x, a, d)
            )
    return total


# --- from two particles to centre of mass and relative motion; momenta are whole numbers ---


@functools.lru_cache(None)
def split(e, l, ea, la, eb, lb):
    """How the quanta e, l of one motion split into two, up to the factor of the bracket."""

    def odd(x):  # x!!
        return math.prod(range(x, 0, -2))

    c = clebsch(2 * la, 0, 2 * lb, 0, 2 * l, 0)
    if c == 0:
        return 0.0
    ways = Fraction(odd(e - l), odd(ea - la) * odd(eb - lb))
    ways *= Fraction(odd(e + l + 1), odd(ea + la + 1) * odd(eb + lb + 1))
    return sqrt((2 * la + 1) * (2 * lb + 1) * ways) * c


@functools.lru_cache(None)
def bracket(cm, rel, first, second, coupled):
    """<E L, e l; coupled | e1 l1, e2 l2; coupled> of equal masses (Kamuntavicius et al., Nucl. Phys.
    A 695, 191), each motion given as (quanta, angular momentum)."""
    (e_cm, l_cm), (e_rel, l_rel), (e1, l1), (e2, l2) = cm, rel, first, second
    if e_cm + e_rel != e1 + e2:
        return 0.0
    total = 0.0
    for ea in range(max(0, e_cm - e2), min(e1, e_cm) + 1):
        eb, ec = e1 - ea, e_cm - ea
        ed = e2 - ec
        for la, lb in itertools.product(range(ea % 2, ea + 1, 2), range(eb % 2, eb + 1, 2)):
            one = split(e1, l1, ea, la, eb, lb)
            if one == 0:
                continue
            for lc in range(ec % 2, ec + 1, 2):
                two = split(e_cm, l_cm, ea, la, ec, lc)
                if two == 0:
                    continue
                for ld in range(ed % 2, ed + 1, 2):
                    rest = split(e2, l2, ec, lc, ed, ld) * split(e_rel, l_rel, eb, lb, ed, ld)
                    if rest:
                        momenta = la, lb, l1, lc, ld, l2, l_cm, l_rel, coupled
                        nine = nine_j(*(2 * m for m in momenta))
                        total += (-1) ** ed * nine * one * two * rest
    # the sum is for functions positive far away
    nodes = (e1 - l1 + e2 - l2 + e_cm - l_cm + e_rel - l_rel) // 2
    return (-1) ** nodes * total / 2 ** ((e1 + e2) / 2)


@functools.lru_cache(None)
def relative_parts(a, b, J, T):
    """Two nucleons in orbits a, b, normalised, in states of the relative motion:
    {(E, L, S, j): [(e, l, amplitude), ...]}, j of the relative motion with spin."""
    (na, la, ja), (nb, lb, jb) = a, b
    first, second = (2 * na + la, la), (2 * nb + lb, lb)
    quanta = first[0] + second[0]
    out = {}
    for S, coupled in itertools.product((0, 1), range(abs(la - lb), la + lb + 1)):
        if not abs(coupled - S) <= J <= coupled + S:
            continue
        c = nine_j(2 * la, 1, ja, 2 * lb, 1, jb, 2 * coupled, 2 * S, 2 * J)
        c *= sqrt((ja + 1) * (jb + 1) * (2 * coupled + 1) * (2 * S + 1))
        for e in range(quanta + 1) if c else ():
            E = quanta - e
            for l, L in itertools.product(range(e % 2, e + 1, 2), range(E % 2, E + 1, 2)):
                if (l + S + T) % 2 == 0 or not abs(L - l) <= coupled <= L + l:
                    continue
                m = c * bracket((E, L), (e, l), first, second, coupled)
                for j in range(abs(l - S), l + S + 1) if m else ():
                    r = six_j(2 * L, 2 * l, 2 * coupled, 2 * S, 2 * J, 2 * j)
                    r *= (-1) ** (L + l + S + J) * sqrt((2 * coupled + 1) * (2 * j + 1))
                    if r:
                        parts = out.setdefault((E, L, S, j), {})
                        parts[e, l] = parts.get((e, l), 0.0) + m * r
    norm = sqrt(2) if a != b else 1
    return {k: [(e, l, norm * x) for (e, l), x in p.items()] for k, p in out.items()}


# --- operators of the relative motion ---


def kinetic(e, l, e2, l2):
    """p^2/2 in units of hw."""
    if l != l2 or abs(e - e2) > 2:
        return 0.0
    n = max(e - l, e2 - l) // 2
    return 0.5 * (e + 1.5) if e == e2 else 0.5 * sqrt(n * (n + l + 0.5))


@functools.lru_cache(None)
def inverse_distance(e, l, e2, l2):
    """1/r between two particles, in units of 1/b with b the length of one particle's oscillator."""
    if l != l2:
        return 0.0

    def polynomial(n):  # of r^2: the associated Laguerre polynomial
        out = []
        for i in range(n + 1):
            x = Fraction((-1) ** i, factorial(n - i) * factorial(i))
            for k in range(i + 1, n + 1):
                x *= Fraction(2 * (l + k) + 1, 2)
            out.append(x)
        return out

    n, n2 = (e - l) // 2, (e2 - l) // 2
    total = sum(
        x * y * factorial(l + i + k)
        for (i, x), (k, y) in itertools.product(enumerate(polynomial(n)), enumerate(polynomial(n2)))
    )
    norm = [sqrt(2 * factorial(k) / math.gamma(k + l + 1.5)) for k in (n, n2)]
    return norm[0] * norm[1] * float(total) / 2 / sqrt(2)


def fail(text):
    sys.exit("relative_snt.py: " + text)


def read_relative(path):
    """{(e, l, e2, l2, S, j, T): MeV}, both ways round."""
    try:
        with open(path) as stream:
            words = [(n, w.split()) for n, w in enumerate(stream, 1) if not w.startswith("#")]
    except OSError as error:
        fail(f"{path}: cannot be read: {error.strerror}")
    except UnicodeDecodeError:
        fail(f"{path}: is not text; relative LSJT elements were expected (packed? unpack it)")
    rows = [(n, w) for n, w in words if w]
    if len(rows) < 3 or [len(w) for _, w in rows[:3]] != [1, 5, 2]:
        fail(
            f"{path}: expected the lines 'version', 'J0 g0 T0min T0max mode' and 'Nmax Jmax' of "
            "relative LSJT elements"
        )
    if rows[0][1] != ["1"]:
        fail(f"{path}:{rows[0][0]}: version {rows[0][1][0]}; 1 is known")
    if rows[1][1][:4] != ["0"] * 4:
        fail(
            f"{path}:{rows[1][0]}: J0 g0 T0min T0max are {' '.join(rows[1][1][:4])}; an interaction "
            "that is a scalar of isospin, too, has 0 0 0 0"
        )
    if not all(x.isdecimal() for x in rows[2][1]):
        found = " ".join(rows[2][1])
        fail(f"{path}:{rows[2][0]}: Nmax Jmax are {found}; whole numbers were expected")
    most = int(rows[2][1][0])
    out = {}
    for n, w in rows[3:]:
        try:
            T0, e, l, S, j, T, e2, l2, S2, j2, T2 = map(int, w[:11])
            (value,) = map(float, w[11:])
        except ValueError:
            fail(f"{path}:{n}: expected T0, twice N L S J T, and a number")
        if (T0, S, j, T) != (0, S2, j2, T2):
            fail(f"{path}:{n}: an element of a scalar has equal S, J and T on both sides")
        if not math.isfinite(value):
            fail(f"{path}:{n}: the element is {w[11]}; a finite number was expected")
        for a, b in ((e, l), (e2, l2)):
            whole = 0 <= b <= a <= most and (a - b) % 2 == 0 and S in (0, 1) and T in (0, 1)
            if not whole or not abs(b - S) <= j <= b + S or (b + S + T) % 2 == 0:
                fail(
                    f"{path}:{n}: N L S J T = {a} {b} {S} {j} {T} is no state of two nucleons with "
                    f"at most Nmax = {most} quanta (L + S + T is odd, N - L even)"
                )
        if out.get((e, l, e2, l2, S, j, T), value) != value:
            fail(f"{path}:{n}: this element is there already, with another value")
        out[e, l, e2, l2, S, j, T] = out[e2, l2, e, l, S, j, T] = value
    return out, most


# --- what a space needs, and writing it ---


def shells(protons, neutrons):
    """Quanta of all nucleons of the lowest configuration, falling."""
    out = []
    for count in (protons, neutrons):
        quanta = 0
        while count > 0:
            held = min(count, (quanta + 1) * (quanta + 2))
            out += [quanta] * held
            count -= held
            quanta += 1
    return sorted(out, reverse=True)


def orbits_up_to(most):
    return sorted(
        (
            ((q - l) // 2, l, j)
            for q in range(most + 1)
            for l in range(q % 2, q + 1, 2)
            for j in (2 * l - 1, 2 * l + 1)
            if j > 0
        ),
        key=lambda o: (2 * o[0] + o[1], o[2]),
    )


class Elements:
    """Between two nucleons of given charges."""

    def __init__(self, interaction, hw, mass, coulomb):
        self.interaction, self.hw, self.mass = interaction, hw, mass
        self.charge = COULOMB * sqrt(NUCLEON * hw) / HBAR_C if coulomb else 0.0
        self.known = {}

    def relative(self, e, l, e2, l2, S, j, T, protons):
        key = (e, l, e2, l2, S, j, T, protons)
        if key not in self.known:
            value = self.interaction.get(key[:7], 0.0)
            value += 2 * self.hw / self.mass * kinetic(e, l, e2, l2)
            if protons and self.charge:
                value += self.charge * inverse_distance(e, l, e2, l2)
            self.known[key] = value
        return self.known[key]

    def coupled(self, a, b, c, d, J, T, protons):
        """<ab J T| |cd J T>, normalised."""
        bra, ket = relative_parts(a, b, J, T), relative_parts(c, d, J, T)
        return sum(
            x * y * self.relative(e, l, e2, l2, S, j, T, protons)
            for (E, L, S, j), left in bra.items()
            for e, l, x in left
            for e2, l2, y in ket.get((E, L, S, j), ())
        )

    def proton_neutron(self, a, b, c, d, J):
        total = 0.0
        for T in (0, 1):
            if (a == b or c == d) and (J + T) % 2 == 0:
                continue
            total += self.coupled(a, b, c, d, J, T, False)
        return total * sqrt((2 if a == b else 1) * (2 if c == d else 1)) / 2


def two_body(elements, orbits, most, kind):
    """All (i, j, k, l, J, MeV) between orbits by their numbers."""
    quanta = [2 * n + l for n, l, _ in orbits]
    pairs = [
        (i, j)
        for i, j in itertools.product(range(len(orbits)), repeat=2)
        if quanta[i] + quanta[j] <= most and (kind == "pn" or i <= j)
    ]
    for x, (i, j) in enumerate(pairs):
        for k, l in pairs[x:]:
            a, b, c, d = (orbits[o] for o in (i, j, k, l))
            if (a[1] + b[1] + c[1] + d[1]) % 2:
                continue
            least = max(abs(a[2] - b[2]), abs(c[2] - d[2])) // 2
            for J in range(least, min(a[2] + b[2], c[2] + d[2]) // 2 + 1):
                if kind == "pn":
                    value = elements.proton_neutron(a, b, c, d, J)
                elif (i == j or k == l) and J % 2:
                    continue
                else:
                    value = elements.coupled(a, b, c, d, J, 1, kind == "pp")
                if abs(value) > 1e-11:
                    yield i, j, k, l, J, value


def write_snt(stream, words, orbits, listed):
    count = len(orbits)
    stream.write(f"! {words}\n{count:4d} {count:4d} 0 0\n")
    for species, charge in ((0, -1), (count, 1)):
        for i, (n, l, j) in enumerate(orbits):
            stream.write(f"{species + i + 1:4d} {n:3d} {l:3d} {j:3d} {charge:3d}\n")
    stream.write("0 0\n")  # all is in the elements of two
    stream.write(f"{len(listed)} 0\n")
    for i, j, k, l, J, value in listed:
        stream.write(f"{i:4d} {j:4d} {k:4d} {l:4d} {J:4d} {value:19.11f}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("relative", help="relative LSJT matrix elements, MeV")
    for name in ("protons", "neutrons", "nmax"):
        parser.add_argument("--" + name, type=int, required=True)
    parser.add_argument("--hw", type=float, required=True, help="MeV, that of the elements")
    parser.add_argument("--coulomb", action="store_true", help="e^2/r between protons, too")
    parser.add_argument("-o", "--output", required=True)
    o = parser.parse_args()
    mass = o.protons + o.neutrons
    if min(o.protons, o.neutrons, o.nmax) < 0 or mass < 2 or not 0 < o.hw < math.inf:
        fail("expected two nucleons or more, nmax of at least 0 and a finite hw above 0")
    if mass > 400:
        fail(f"{mass} nucleons; at most 400 were expected")
    if os.path.realpath(o.relative) == os.path.realpath(o.output):
        fail(f"-o {o.output}: would overwrite the input; choose another name")
    highest = shells(o.protons, o.neutrons)
    one, two = highest[0] + o.nmax, highest[0] + highest[1] + o.nmax
    interaction, most = read_relative(o.relative)
    if most < two:
        fail(f"{o.relative}: holds {most} quanta of relative motion; nmax {o.nmax} needs {two}")
    orbits = orbits_up_to(one)
    elements = Elements(interaction, o.hw, mass, o.coulomb)
    listed = []
    count = len(orbits)
    for kind, first, second in (("pp", 0, 0), ("nn", count, count), ("pn", 0, count)):
        for i, j, k, l, J, value in two_body(elements, orbits, two, kind):
            listed.append((i + first + 1, j + second + 1, k + first + 1, l + second + 1, J, value))
    words = f"A = {mass}, hw = {o.hw:g} MeV, nmax = {o.nmax}: interaction, kinetic energy"
    try:
        with open(o.output, "w") as stream:
            write_snt(stream, words + (", Coulomb" if o.coulomb else ""), orbits, listed)
    except OSError as error:
        fail(f"{o.output}: cannot be written: {error.strerror}")
    print(f"{o.output}: {2 * len(orbits)} orbits, {len(listed)} elements")


if __name__ == "__main__":
    main()
