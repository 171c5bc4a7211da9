"""podium papers: listing, running, resuming, and messages about missing data."""

from __future__ import annotations


def test_list(cli):
    told = cli("papers", "list", "--json").json
    listed = {row["name"]: row for row in told["experiments"]}
    assert listed["c-table1"]["paper"] == "RankNet, ICML 2005, Table 1"
    assert listed["e-figure4"]["data"] == ["ohsumed", "letor-ohsumed-baselines"]
    assert listed["c-table1"]["sections"] == ["c §5.1"]
    table3 = next(row for row in told["displays"] if (row["document"], row["name"]) == ("d", "Figure 3"))
    assert table3["state"] == "not reproduced"
    assert "not public" in table3["reason"]
    shown = cli("papers", "list").out
    assert "c-table1, c-table1-variants" in shown
    assert "Figure 3: the data is a search engine's and not public" in shown
    assert "forces-by-classes" in shown


def test_run_and_resume(cli, tmp_path):
    first = cli("papers", "run", "a-theorem1", "a-figure2", "--quick", "--out", "made", "--jobs", "1")
    assert "seen at this size: Theorem 1" in first.out
    assert "1 cell in" in first.out
    assert (tmp_path / "made/quick/a-theorem1/theorem1.svg").is_file()
    assert (tmp_path / "made/quick/a-figure2/report.md").is_file()
    second = cli("papers", "run", "a-theorem1", "--quick", "--out", "made")
    assert "1 were kept from before" in second.out
    told = cli("papers", "run", "a-theorem1", "--quick", "--out", "made", "--fresh", "--no-plots", "--json").json
    assert told[0]["cells"] == {"kept": 0, "done": 1, "failed": 0, "skipped": []}


def test_refusals(refused, tmp_path, monkeypatch):
    monkeypatch.delenv("PODIUM_DATA", raising=False)
    assert refused("papers", "run", "c-table7").startswith("unknown table or figure 'c-table7'. Did you mean 'c-table")
    assert refused("papers", "run", "e-figure4") == (
        "e-figure4 needs data: PODIUM_DATA is not set; let it name the folder that holds ohsumed, letor-ohsumed-baselines"
    )
    (tmp_path / "file").write_text("")
    assert refused("papers", "run", "a-figure1", "--out", "file") == "--out file: is a file; give the name of a folder"


def test_without_the_extra_there_are_tables_and_no_plots(tmp_path, monkeypatch, capsys):
    from podium.cli.papers import papers_run

    monkeypatch.setattr("podium.papers.plots.can_plot", lambda: False)
    papers_run(["a-theorem1"], quick=True, target=tmp_path, jobs=1)
    assert (
        "plots are left out, because the extra plots is not installed; pip install 'podium[plots]'"
        in capsys.readouterr().err
    )
    made = {path.name for path in (tmp_path / "quick/a-theorem1").iterdir()}
    assert made == {"cells", "report.md", "results.json"}
