"""What starts the daemon when its user logs in: a systemd user unit, a launchd agent, a Windows task. Pure text."""

import plistlib
from collections.abc import Mapping, Sequence
from typing import Literal
from xml.sax.saxutils import escape

Manager = Literal["systemd", "launchd", "windows"]
SYSTEMD_UNIT = "claude-memory.service"
LAUNCHD_LABEL = "io.github.claude-onedrive-memory.daemon"
WINDOWS_TASK = "claude-memory"

_SYSTEMD = """\
[Unit]
Description=Claude memory: keeps the local cache in step with OneDrive or a folder
Documentation=https://github.com/claude-onedrive-memory/claude-onedrive-memory
StartLimitIntervalSec=300
StartLimitBurst=5

[Service]
Type=notify
NotifyAccess=main
ExecStart={command}
{environment}Restart=on-failure
RestartSec=5
WatchdogSec=120
TimeoutStartSec=60
TimeoutStopSec=20
KillMode=mixed
UMask=0077
# These work in a user manager. ProtectSystem, ProtectHome and their kin need privileges it does not have.
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RestrictNamespaces=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
SystemCallArchitectures=native
SystemCallFilter=@system-service
TasksMax=64
MemoryHigh=400M

[Install]
WantedBy=default.target
"""


def systemd_unit(command: Sequence[str], environment: Mapping[str, str]) -> str:
    """A user unit that runs `command`; it reports readiness and feeds the watchdog itself."""
    lines = "".join(f"Environment={_systemd_quoted(f'{key}={value}')}\n" for key, value in environment.items())
    return _SYSTEMD.format(
        command=" ".join(_systemd_quoted(word).replace("$", "$$") for word in command), environment=lines
    )


def _systemd_quoted(word: str) -> str:
    # `%` is expanded by systemd everywhere, quotes and backslashes are syntax.
    word = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{word}"' if not word or any(c in word for c in " \t'\"\\;") else word


def launchd_agent(command: Sequence[str], environment: Mapping[str, str], log_file: str) -> bytes:
    """A property list for ~/Library/LaunchAgents."""
    agent = {
        "Label": LAUNCHD_LABEL,
        "ProgramArguments": list(command),
        "EnvironmentVariables": {"PATH": "/usr/local/bin:/usr/bin:/bin", **environment},
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": 10,
        "ProcessType": "Background",
        "LowPriorityIO": True,
        "Umask": 0o077,
        "StandardOutPath": log_file,
        "StandardErrorPath": log_file,
    }
    return plistlib.dumps(agent, sort_keys=False)


_WINDOWS = """\
<?xml version="1.0" encoding="UTF-16"?>
<Task version="1.4" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo>
    <Description>Claude memory: keeps the local cache in step with OneDrive or a folder</Description>
    <URI>\\{name}</URI>
  </RegistrationInfo>
  <Triggers>
    <LogonTrigger>
      <Enabled>true</Enabled>
      <UserId>{user}</UserId>
    </LogonTrigger>
  </Triggers>
  <Principals>
    <Principal id="Author">
      <UserId>{user}</UserId>
      <LogonType>InteractiveToken</LogonType>
      <RunLevel>LeastPrivilege</RunLevel>
    </Principal>
  </Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <StartWhenAvailable>true</StartWhenAvailable>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <RestartOnFailure>
      <Interval>PT1M</Interval>
      <Count>10</Count>
    </RestartOnFailure>
    <IdleSettings>
      <StopOnIdleEnd>false</StopOnIdleEnd>
      <RestartOnIdle>false</RestartOnIdle>
    </IdleSettings>
    <Hidden>true</Hidden>
  </Settings>
  <Actions Context="Author">
    <Exec>
      <Command>{program}</Command>
      <Arguments>{arguments}</Arguments>
    </Exec>
  </Actions>
</Task>
"""


def windows_task(command: Sequence[str], user: str) -> str:
    """A Task Scheduler definition; write it as UTF-16 for `schtasks /create /xml`.

    A task has no environment of its own: what the daemon needs stands in its command or its settings.
    """
    return _WINDOWS.format(
        name=WINDOWS_TASK,
        user=escape(user),
        program=escape(command[0]),
        arguments=escape(" ".join(_windows_quoted(word) for word in command[1:])),
    )


def _windows_quoted(word: str) -> str:
    # The rule of CommandLineToArgvW: backslashes count only before a quote.
    if word and not any(c in word for c in ' \t"'):
        return word
    quoted, backslashes = '"', 0
    for character in word:
        if character == "\\":
            backslashes += 1
            continue
        quoted += "\\" * (backslashes * 2 + 1 if character == '"' else backslashes) + character
        backslashes = 0
    return quoted + "\\" * (backslashes * 2) + '"'
