# SPDX-License-Identifier: Apache-2.0
"""Times OpenMM's CPU platform on a GROMACS system with reaction field: one JSON line.

Usage: bench_openmm.py CONF.gro TOPOL.top CUTOFF_NM DT_PS STEPS THREADS
"""
import json
import sys
import time

import openmm
from openmm import app, unit


def main():
    configuration, topology, cutoff, dt, steps, threads = sys.argv[1:7]
    gro = app.GromacsGroFile(configuration)
    top = app.GromacsTopFile(topology, periodicBoxVectors=gro.getPeriodicBoxVectors())
    system = top.createSystem(
        nonbondedMethod=app.CutoffPeriodic,
        nonbondedCutoff=float(cutoff) * unit.nanometer,
        constraints=app.HBonds,
        rigidWater=True,
        removeCMMotion=False,
    )
    for force in system.getForces():
        if isinstance(force, openmm.NonbondedForce):
            force.setReactionFieldDielectric(1e6)  # stands for infinity
            force.setUseDispersionCorrection(False)
    integrator = openmm.VerletIntegrator(float(dt) * unit.picosecond)
    platform = openmm.Platform.getPlatformByName("CPU")
    simulation = app.Simulation(
        top.topology, system, integrator, platform, {"Threads": threads}
    )
    simulation.context.setPositions(gro.positions)
    simulation.context.applyConstraints(1e-5)
    simulation.context.setVelocitiesToTemperature(300 * unit.kelvin, 1)
    simulation.step(200)
    start = time.monotonic()
    simulation.step(int(steps))
    simulation.context.getState(getEnergy=True)
    seconds = time.monotonic() - start
    print(
        json.dumps(
            {
                "program": "OpenMM " + openmm.version.full_version,
                "platform": "CPU",
                "threads": int(threads),
                "steps": int(steps),
                "us_per_step": 1e6 * seconds / int(steps),
                "ns_per_day": float(dt) * 1e-3 * int(steps) * 86400 / seconds,
            }
        )
    )


main()
