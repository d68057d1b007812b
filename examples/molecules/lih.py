# SPDX-License-Identifier: Apache-2.0
"""Writes lih.fcidump: LiH at 1.6 angstrom, STO-3G, orbitals of Hartree-Fock with their irreps."""
from pyscf import gto, scf
from pyscf.tools import fcidump

molecule = gto.M(atom="Li 0 0 0; H 0 0 1.6", basis="sto-3g", symmetry="C2v")
field = scf.RHF(molecule).run()
fcidump.from_scf(field, "lih.fcidump", molpro_orbsym=True)
