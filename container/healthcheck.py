"""Whether the ports of a container answer: exit code 0, or 1 and a line.

A command that opens no port is healthy while it runs. A port that does not answer within some
seconds, or tells that its run has failed, is not.
"""

import os
import sys
import urllib.error
import urllib.request

DASHBOARD = "8765"
TIMEOUT_S = 4
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Asks without the proxy that variables may name."""


def main() -> int:
    """Ask the dashboard's port, and that of the metrics where VECCHESS_METRICS_PORT names one."""
    metrics = os.environ.get("VECCHESS_METRICS_PORT", "0")
    faults = [fault for port in {DASHBOARD, metrics} - {"0"} if (fault := fault_of(port))]
    print("\n".join(faults) or "healthy")
    return 1 if faults else 0


def fault_of(port: str) -> str:
    """What is wrong at a port of this container; "" where nothing is, or none listens."""
    try:
        with OPENER.open(f"http://127.0.0.1:{port}/healthz", timeout=TIMEOUT_S):
            return ""
    except urllib.error.HTTPError as error:
        return f"port {port}: {error.code} {error.read(200).decode(errors='replace')}"
    except urllib.error.URLError as error:
        if isinstance(error.reason, ConnectionRefusedError):
            return ""
        return f"port {port}: {error.reason}"
    except OSError as error:
        return f"port {port}: {error}"


if __name__ == "__main__":
    sys.exit(main())
