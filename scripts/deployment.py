"""Checks the files that deploy Baton: `scripts/deployment` runs it with the program as argument.

| file | what is checked |
|---|---|
| all YAML | it can be read, and no key is given twice |
| compose | names that services use are declared; the image is as the service expects it |
| Kubernetes | selectors, ports, volumes and probes agree; the image is as the pod expects it |
| both | the program takes command and environment, and begins to connect to its log |
| Dockerfile | features exist; ports, folders and health check agree with its environment |
| systemd | commands and settings are taken; folders agree with the settings |

The program is started with the settings of every container. Only the addresses of the log and of the
key file are replaced: no server listens there, so it must end with `log.away`, which it does
after all settings were read, and before it serves.
"""

import json
import os
import re
import secrets
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = str(Path(sys.argv[1]).resolve())
DOCKERFILE = (ROOT / "Dockerfile").read_text()
# The error of the program when its settings are valid and its log cannot be reached.
REACHED = "log.away"

problems = []


def check(holds, where, problem):
    if not holds:
        problems.append(f"{where}: {problem}")


class Reader(yaml.SafeLoader):
    """A reader that refuses a key that is given twice: the first would be lost without a word."""

    def construct_mapping(self, node, deep=False):
        keys = [key.value for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge"]
        twice = {key for key in keys if keys.count(key) > 1}
        if twice:
            raise yaml.YAMLError(f"{sorted(twice)} given twice{node.start_mark}")
        return super().construct_mapping(node, deep)


def documents(path):
    try:
        return [one for one in yaml.load_all(path.read_text(), Reader) if one is not None]
    except yaml.YAMLError as error:
        problems.append(f"{path.name}: {error}")
        return []


def run(words, environment=None, folder=None):
    kept = {name: os.environ[name] for name in ("HOME", "PATH") if name in os.environ}
    return subprocess.run(
        [PROGRAM, *words], env=kept | (environment or {}), cwd=folder, capture_output=True,
        text=True, timeout=60, stdin=subprocess.DEVNULL)


def known_variables():
    """The environment variables that the program reads, from its own help."""
    text = run(["help", "serve"]).stdout + run(["help", "settings"]).stdout
    text += (ROOT / "docs/cli.md").read_text() + (ROOT / "docs/operations.md").read_text()
    return set(re.findall(r"\bBATON_[A-Z0-9_]+", text))


def image():
    """The environment that the Dockerfile sets in the image."""
    last = DOCKERFILE[DOCKERFILE.rindex("\nFROM "):].replace("\\\n", " ")
    lines = re.findall(r"^([A-Z]+) (.*)$", last, re.MULTILINE)

    def of(name):
        return [rest.strip() for word, rest in lines if word == name]

    environment = dict(pair.split("=", 1) for text in of("ENV") for pair in text.split())
    return {
        "user": re.search(r"--uid (\d+)", last).group(1),
        "environment": environment,
        "ports": {int(port) for text in of("EXPOSE") for port in text.split()},
        "volumes": of("VOLUME"),
        "command": json.loads(of("CMD")[-1]) if of("CMD") else [],
        "entrypoint": json.loads(of("ENTRYPOINT")[-1]),
        "health": re.search(r"HEALTHCHECK.*CMD (\[.*\])", last).group(1),
    }


def begins_to_serve(where, command, environment):
    """Starts the program as a container would."""
    environment = {name: str(value) for name, value in environment.items()}
    unknown = {name for name in environment if name.startswith("BATON_")} - VARIABLES
    check(not unknown, where, f"the program does not read {sorted(unknown)}")
    with tempfile.TemporaryDirectory() as folder:
        key = Path(folder, "key")
        key.write_text(secrets.token_hex(32))
        key.chmod(0o600)
        replaced = {"BATON_SECRETS_KEY_FILE": str(key), "BATON_LISTEN": "127.0.0.1:0"}
        # One address at which no server listens; scheme, database and parameters stay.
        log = environment["BATON_LOG"]
        replaced["BATON_LOG"] = re.sub(r"(//(?:[^@/]*@)?)[^/?]*", r"\g<1>127.0.0.1:1", log)
        ran = run(command, environment | replaced, folder)
    check(REACHED in ran.stderr, where, f"it does not begin to serve: {ran.stderr.strip()}")


def listens_at(where, environment, port):
    listen = environment.get("BATON_LISTEN", "127.0.0.1:4747")
    check(listen == f"0.0.0.0:{port}", where, f"it listens at {listen}, not at port {port}")


def compose(path, built):
    for text in documents(path):
        services, declared = text["services"], {
            kind: set(text.get(kind) or {}) for kind in ("volumes", "configs", "secrets")}
        servers = {name for name, service in services.items() if "build" in service}
        check(len(servers) > 1, path.name, "there is no second server")
        published = []
        for name, service in services.items():
            where = f"{path.name}, {name}"
            awaited = service.get("depends_on", [])
            check(set(awaited) <= set(services), where, f"it waits for unknown services: {awaited}")
            used = {
                "volumes": {volume.split(":")[0] for volume in service.get("volumes", [])},
                "configs": {config["source"] for config in service.get("configs", [])},
                "secrets": {secret["source"] for secret in service.get("secrets", [])},
            }
            for kind, names in used.items():
                check(names <= declared[kind], where, f"{kind} that are not declared: {names}")
            published += [port.split(":")[0] for port in service.get("ports", [])]
        check(len(set(published)) == len(published), path.name, "a port is published twice")
        for name in servers:
            server(f"{path.name}, {name}", name, services[name], set(services), built)


def server(where, name, service, services, built):
    """A service that runs the image."""
    environment = built["environment"] | service["environment"]
    port = next(iter(built["ports"]))
    listens_at(where, environment, port)
    for published in service["ports"]:
        check(published.split(":")[1] == str(port), where, f"{published} is not port {port}")
    advertised = environment["BATON_ADVERTISE"]
    check(advertised == f"http://{name}:{port}", where, f"it advertises {advertised}")
    hosts = re.search(r"//(?:[^@/]*@)?([^/?]*)", environment["BATON_LOG"]).group(1).split(",")
    check(set(hosts) <= services, where, f"its log is at {hosts}, which are no services")
    for secret in service["secrets"]:
        check(secret["uid"] == built["user"], where, "the secret belongs to another user")
        file = f"/run/secrets/{secret['source']}"
        check(environment["BATON_SECRETS_KEY_FILE"] == file, where, f"the key is not {file}")
    build = service["build"]
    features = build.get("args", {}).get("FEATURES", "") if isinstance(build, dict) else ""
    manifest = (ROOT / "crates/cli/Cargo.toml").read_text()
    for feature in features.split():
        known = re.search(rf"^{feature} = ", manifest, re.MULTILINE)
        check(known, where, f"there is no feature `{feature}`")
    begins_to_serve(where, service["command"], environment)


def kubernetes(path, built):
    objects = {one["kind"]: one for one in documents(path)}
    deployment = objects["Deployment"]
    pod = deployment["spec"]["template"]
    labels, container = pod["metadata"]["labels"], pod["spec"]["containers"][0]
    where = path.name
    for selector in (deployment["spec"]["selector"]["matchLabels"],
                     objects["Service"]["spec"]["selector"],
                     objects["PodDisruptionBudget"]["spec"].get("selector", {}).get("matchLabels")):
        check(selector == labels, where, f"{selector} does not select the pods, {labels}")
    check(str(pod["spec"]["securityContext"]["runAsUser"]) == built["user"], where,
          "the pods have another user than the image")
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    check(set(ports.values()) == built["ports"], where, f"the image has other ports than {ports}")
    for port in objects["Service"]["spec"]["ports"]:
        check(port["targetPort"] in ports, where, f"there is no port {port['targetPort']}")
    for probe, path_of in (("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")):
        get = container[probe]["httpGet"]
        check(get["port"] in ports and get["path"] == path_of, where, f"{probe}: {get}")
    volumes = {volume["name"] for volume in pod["spec"]["volumes"]}
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    check(set(mounts) == volumes, where, f"volumes {volumes}, but mounts {set(mounts)}")
    given = {one["name"]: one.get("value") for one in container["env"]}
    environment = built["environment"] | {
        name: value for name, value in given.items() if value is not None}
    listens_at(where, environment, ports["http"])
    key = environment["BATON_SECRETS_KEY_FILE"]
    check(str(Path(key).parent) in mounts.values(), where, f"nothing is mounted for {key}")
    # The values that the cluster sets.
    for name, value in environment.items():
        for used in re.findall(r"\$\((\w+)\)", value):
            order = list(given)
            check(used in given and order.index(used) < order.index(name), where,
                  f"{name} uses {used}, which is not set before it")
    check({"BATON_LOG", "PGPASSWORD"} <= set(given), where, "the log is not given")
    # The secret with the log, as the comment at the top of the file creates it.
    environment["BATON_LOG"] = re.search(r"--from-literal=url='(.*?)'", path.read_text()).group(1)
    environment["BATON_ADVERTISE"] = environment["BATON_ADVERTISE"].replace("$(POD_IP)", "10.0.0.7")
    begins_to_serve(where, container["args"], environment)


def dockerfile(built):
    where = "Dockerfile"
    environment = built["environment"]
    port = next(iter(built["ports"]))
    listens_at(where, environment, port)
    check(environment["BATON_URL"] == f"http://127.0.0.1:{port}", where, "BATON_URL has another port")
    inside = any(environment["BATON_DATA"].startswith(f"{folder}/") for folder in built["volumes"])
    check(inside, where, f"{environment['BATON_DATA']} is in no volume")
    check(built["entrypoint"] == ["baton"] and built["command"] == ["serve"], where,
          "it does not run `baton serve`")
    unknown = {name for name in environment if name.startswith("BATON_")} - VARIABLES
    check(not unknown, where, f"the program does not read {sorted(unknown)}")
    # No server answers there, which the command must detect.
    health = json.loads(built["health"])
    ran = run([*health[1:], "--url", "http://127.0.0.1:1"])
    check(health[0] == "baton" and ran.returncode == 8, where, f"the health check: {ran.stderr}")
    for copied in re.findall(r"^COPY (?!--from)(\S+)", DOCKERFILE, re.MULTILINE):
        check((ROOT / copied).exists(), where, f"there is no {copied} to copy")


def systemd(unit, settings):
    text = unit.read_text()
    values = dict(re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE))
    where = unit.name
    toml = str(settings)
    for setting in ("ExecStartPre", "ExecStart"):
        program, *words = values[setting].split()
        check(program == "/usr/local/bin/baton", where, f"{setting} runs {program}")
        words = [toml if word == "/etc/baton/baton.toml" else word for word in words]
        check(toml in words, where, f"{setting} does not read the settings")
        ran = run(words if setting == "ExecStartPre" else [*words, "--help"])
        check(ran.returncode == 0, where, f"{setting}: {ran.stderr}")
    data = re.search(r'^data = "(.*)"$', settings.read_text(), re.MULTILINE).group(1)
    check(data == f"/var/lib/{values['StateDirectory']}", where, f"data are in {data}")
    check(values["ExecReload"] == "/bin/kill -HUP $MAINPID", where, "it does not reload")
    # Calls of excluded groups that the program makes: without them it works, but less well.
    allowed = " ".join(re.findall(r"^SystemCallFilter=([^~].*)$", text, re.MULTILINE)).split()
    missing = {"prlimit64", "setpriority"} - set(allowed)
    check(not missing, where, f"the program may not call {sorted(missing)}")


VARIABLES = known_variables()
BUILT = image()
deploy = ROOT / "deploy"
for file in sorted(deploy.rglob("*.yaml")):
    check(documents(file), file.name, "nothing is in it")
for file in sorted(deploy.glob("compose*.yaml")):
    compose(file, BUILT)
kubernetes(deploy / "k8s.yaml", BUILT)
dockerfile(BUILT)
systemd(deploy / "baton.service", deploy / "baton.toml")
print("\n".join(problems) or "the files in deploy agree with each other and with the program")
sys.exit(1 if problems else 0)
