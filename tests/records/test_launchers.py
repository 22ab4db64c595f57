"""Which variables tell a process of others beside it."""

import pytest

from heedful.records.launchers import without_launcher


@pytest.mark.parametrize(
    "name",
    ["RANK", "LOCAL_RANK", "GROUP_RANK", "NODE_RANK", "ROLE_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "ROLE_NAME"]
    + ["MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_MAX_RESTARTS"]
    + ["SLURM_NTASKS", "SLURM_NPROCS", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_NTASKS_PER_NODE"]
    + ["SLURM_NTASKS_PER_GPU", "SLURM_TASKS_PER_NODE", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_TASKS_PER_NODE"]
    + ["JSM_NAMESPACE_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMIX_RANK"],
)
def test_what_numbers_the_processes_of_a_launcher_goes(name: str) -> None:
    assert without_launcher({name: "1", "HOME": "/home"}) == {"HOME": "/home"}


@pytest.mark.parametrize(
    "name",
    ["SLURM_JOB_ID", "SLURM_JOB_NAME", "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_CPUS_PER_TASK"]
    + ["SLURM_NODELIST", "SLURM_NNODES", "SLURM_STEP_ID", "LSB_JOBID", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS"]
    + ["FRANK", "MY_MASTER_PORT", "RANKS", "PL_GLOBAL_SEED"],
)
def test_all_else_stays(name: str) -> None:
    assert without_launcher({name: "1"}) == {name: "1"}
