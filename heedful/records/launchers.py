"""Variables by which launchers such as srun and torchrun tell a process of the others beside it."""

import re
from collections.abc import Mapping

OF_LAUNCHERS = (
    re.compile(  # to Lightning and MPI they are orders; what only describes a job, as SLURM_JOB_ID, is not here
        r"((LOCAL|GROUP|NODE|ROLE)_)?(RANK|WORLD_SIZE)|MASTER_(ADDR|PORT)|ROLE_NAME|TORCHELASTIC_.*"
        r"|SLURM_(STEP_)?(NTASKS|NPROCS|NUM_TASKS|PROCID|LOCALID|NODEID|TASKS_PER_NODE|NTASKS_PER_.*)"
        r"|(JSM_NAMESPACE|OMPI_COMM_WORLD|PMI|PMIX)_.*"
    )
)


def without_launcher(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment for a process that is not one of those that a launcher has started.

    Args:
        environment: That of a process, which a launcher may have started.
    """
    return {name: value for name, value in environment.items() if not OF_LAUNCHERS.fullmatch(name)}
