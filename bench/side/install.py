"""Peers, installed into a scratch directory: from PyPI, npm and Debian, by those clients. The machine stays as it is."""

import glob
import os
import subprocess
import sys

PYPI = ("supervisor==4.3.0", "circus==0.19.0")
NPM = "pm2@7.0.4"
DEBIAN = ("runit", "s6", "libs6-2.11", "libskarnet2.13", "libexecline2.9")
WAIT_S = 300


def _run(*argv: str, cwd: str) -> str:
    """Empty, or why it did not work."""
    try:
        done = subprocess.run(argv, cwd=cwd, capture_output=True, text=True, timeout=WAIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["it failed"])[-1]


def install(directory: str) -> dict[str, str]:
    """Install what is missing; for each source that failed, why."""
    os.makedirs(directory, exist_ok=True)
    failed = {}
    if not os.path.exists(f"{directory}/py/bin/circusd"):
        why = _run(sys.executable, "-m", "venv", "py", cwd=directory)
        why = why or _run(
            "py/bin/python", "-m", "pip", "install", "-q", "setuptools<81", *PYPI, cwd=directory
        )
        failed |= {"pypi": why} if why else {}
    if not os.path.exists(f"{directory}/npm/node_modules/.bin/pm2"):
        why = _run(
            "npm", "install", "--prefix", "npm", "--no-audit", "--no-fund", "--silent", NPM, cwd=directory
        )
        failed |= {"npm": why} if why else {}
    if not os.path.exists(f"{directory}/deb/usr/bin/s6-svscan"):
        why = _run("apt-get", "download", "-q", *DEBIAN, cwd=directory)
        for package in [] if why else glob.glob(f"{directory}/*.deb"):
            why = why or _run("dpkg", "-x", package, "deb", cwd=directory)
        failed |= {"debian": why} if why else {}
    return failed


def debian_version(directory: str, package: str) -> str:
    """As the downloaded file is called."""
    found = glob.glob(f"{directory}/{package}_*.deb")
    return os.path.basename(found[0]).split("_")[1] if found else "?"
