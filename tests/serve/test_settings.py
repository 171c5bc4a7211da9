"""How models, roles, limits and keys are given, and what is refused before anything is served."""

from __future__ import annotations

import pickle
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import podium
from podium.cli import main
from podium.serve.keys import ApiKeys, key_of
from podium.serve.server import bind
from podium.serve.settings import ModelSource, Role, ServiceLimits, ServiceSettings

KEY = "correct-horse-battery"


def test_models_are_named_by_their_file_or_by_hand(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert ModelSource.parse("some/shop.podium") == ModelSource("shop", Path("some/shop.podium"))
    assert ModelSource.parse("a=b.podium") == ModelSource("a", Path("b.podium"))
    assert ModelSource.parse("a@2=c=d.podium") == ModelSource("a", Path("c=d.podium"), "2")
    Path("x=y.podium").touch()
    with pytest.raises(podium.ParameterError, match=r"name='x=y' must consist of at most 64 letters"):
        ModelSource.parse("x=y.podium")


@pytest.mark.parametrize(
    ("models", "options", "message"),
    [
        ([], {}, "at least one model"),
        (["a=1.podium", "a=2.podium"], {}, "names several files"),
        (["a@1=1.podium", "a@1=2.podium"], {}, "'a@1' is given twice"),
        (["a@1=1.podium"], {"canaries": ["a@2=0.5"]}, "unknown version 'a@2'. Did you mean 'a@1'"),
        (["a@1=1.podium"], {"shadows": ["a@1"]}, "is the first version of its model"),
        (["a@1=1.podium", "a@2=2.podium"], {"canaries": ["a@2=1.5"]}, "with a share from 0 to 1"),
        (["a@1=1.podium", "a@2=2.podium"], {"canaries": ["a@2=nan"]}, "with a share from 0 to 1"),
        (["a@1=1.podium", "a@2=2.podium"], {"canaries": ["a@2"]}, "must read NAME@VERSION=SHARE"),
        (["a@1=1.podium", "a@2=2.podium"], {"shadows": ["a@2=1"]}, "must read NAME@VERSION"),
        (["a@1=1.podium", "a@2=2.podium"], {"shadows": ["a@2", "a@2"]}, "second shadow of a"),
    ],
)
def test_models_and_roles_that_do_not_fit_are_refused(models, options, message):
    with pytest.raises(podium.ParameterError) as caught:
        ServiceSettings.parse(models, **options)
    assert message in str(caught.value)


def test_settings_reach_workers():
    settings = ServiceSettings.parse(
        ["a@1=1.podium", "a@2=2.podium"], canaries=["a@2=.5"], limits=ServiceLimits(max_documents=7)
    )
    again = pickle.loads(pickle.dumps(settings))
    assert again == settings
    assert again.limits.max_documents == 7
    assert again.canaries == (Role("a", "2", 0.5),)
    with pytest.raises(podium.ParameterError, match=r"max_documents=0 must be a whole number from 1"):
        ServiceLimits(max_documents=0)


def test_keys_are_read_and_never_shown(tmp_path, monkeypatch):
    path = tmp_path / "keys"
    path.write_text(f"# ours\n{KEY}\n\n{'b' * 20}\n")
    keys = ApiKeys.read(path)
    assert keys.accept(KEY.encode())
    assert keys.accept(b"b" * 20)
    assert not any(keys.accept(other) for other in (None, b"", KEY[:-1].encode(), b"# ours"))
    assert KEY not in repr(keys)
    assert KEY.encode() not in pickle.dumps(keys)
    monkeypatch.setenv("PODIUM_API_KEYS", f"{'c' * 20},")
    assert ApiKeys.read(None).accept(b"c" * 20)
    monkeypatch.delenv("PODIUM_API_KEYS")
    assert ApiKeys.read(None).accept(None)
    path.write_text("short-secret\n")
    with pytest.raises(podium.DataError, match="key 1 must have at least 16") as caught:
        ApiKeys.read(path)
    assert "short-secret" not in str(caught.value)
    path.write_text("# none\n")
    with pytest.raises(podium.ParameterError, match="holds no key"):
        ApiKeys.read(path)


def test_keys_come_in_two_headers():
    assert key_of({b"authorization": b"bearer  abc "}) == b"abc"
    assert key_of({b"x-api-key": b"abc"}) == b"abc"
    assert key_of({b"authorization": b"Basic abc"}) is None


def test_a_port_in_use_is_named():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            podium.ParameterError, match=f"port={port} of 127.0.0.1 cannot be used: Address already in use"
        ):
            bind("127.0.0.1", port)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["none.podium"], "none.podium: there is no such file"),
        (["noise.podium"], "is not a Podium model"),
        (["noise.podium", "--workers", "0"], "--workers"),
        (["noise.podium", "--max-documents", "0"], "--max-documents"),
        (["noise.podium", "--timeout", "nan"], "--timeout"),
        (["noise.podium", "--reload-seconds", "-1"], "--reload-seconds"),
        (["noise.podium", "--canary", "noise@2=0.5"], "unknown version 'noise@2'"),
        (["noise.podium", "--api-keys", "absent"], "absent: No such file"),
    ],
)
def test_the_command_refuses_with_a_sentence(words, message, tmp_path, monkeypatch, capfd):
    (tmp_path / "noise.podium").write_bytes(b"noise")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["podium", "serve", *words, "--port", "0"])
    with pytest.raises(SystemExit) as stop:
        main()
    printed = capfd.readouterr()
    assert stop.value.code == 2
    assert message in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out == ""


def test_a_model_beyond_the_limit_of_features_is_refused(models):
    from podium.serve.registry import Registry

    settings = ServiceSettings.parse([str(models / "shop.podium")], limits=ServiceLimits(max_features=4))
    with pytest.raises(podium.DataError, match="has 5 features, the limit is 4"):
        Registry(settings)


def test_the_service_loads_no_training_code_scikit_learn_or_scipy(models):
    program = f"""
import sys, podium.serve.server
from podium.serve.settings import ServiceSettings
podium.serve.server.create_app(ServiceSettings.parse([{str(models / "shop.podium")!r}]))
heavy = {{name.split(".")[0] for name in sys.modules}} & {{"sklearn", "scipy", "pandas", "pyarrow", "typer", "rich", "torch"}}
own = [name for name in sys.modules if name.split(".")[:2] in (["podium", "training"], ["podium", "rankers"], ["podium", "forces"])]
assert not heavy and not own, (heavy, own)
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_client_needs_no_extra():
    program = "import sys, podium.serve; assert not {'fastapi', 'msgspec', 'uvicorn', 'pyarrow'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
