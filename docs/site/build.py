#!/usr/bin/python3
"""Builds the site in build/site from the Markdown files of the project, each at its own place, and pages that are made
from the headers. Warnings are errors, and so are links that lead nowhere. Needs mkdocs.
"""

import pathlib
import re
import shutil
import subprocess
import sys

import yaml

import api
import links

SITE = pathlib.Path(__file__).resolve().parent
ROOT = SITE.parent.parent
PAGES = ROOT / "build" / "pages"
LINK = re.compile(r"\]\(([^)\s#:]+)(#[^)\s]*)?\)")


def sources():
    """Every Markdown file but those of build folders and of data."""
    found = [path.relative_to(ROOT) for path in ROOT.rglob("*.md")]
    return sorted(path for path in found if path.parts[0] not in ("build", ".git"))


def stage(pages):
    """Copies the pages, and the files that they link to. Links to headers lead to their API pages, those to folders
    to a page that shows what is in them.
    """
    shutil.rmtree(PAGES, ignore_errors=True)
    for page in pages:
        text = (ROOT / page).read_text(encoding="utf-8")
        for header, made in api.HEADERS.items():
            linked = pathlib.Path(*[".."] * len(page.parent.parts), header).as_posix()
            text = text.replace(f"]({linked})", f"]({linked.replace(header, made)})")
        place(page).write_text(text, encoding="utf-8")
        for target, _ in LINK.findall(text):
            linked = (ROOT / page.parent / target).resolve()
            if linked.is_file() and linked.suffix != ".md":
                shutil.copyfile(linked, place(linked.relative_to(ROOT)))
            if linked.is_dir() and not (linked / "README.md").is_file():
                folder = linked.relative_to(ROOT)
                place(folder / "README.md").write_text(listing(folder), encoding="utf-8")
    for header, made in api.HEADERS.items():
        place(pathlib.Path(made)).write_text(api.page(str(ROOT / header)), encoding="utf-8")


def listing(folder):
    parts = [f"# {folder.as_posix()}"]
    for path in sorted((ROOT / folder).iterdir()):
        if path.is_file():
            parts.append(f"## {path.name}\n\n````text\n{path.read_text(encoding='utf-8', errors='replace')}\n````")
    return "\n\n".join(parts) + "\n"


def place(path):
    (PAGES / path.parent).mkdir(parents=True, exist_ok=True)
    return PAGES / path


def configuration(pages):
    """mkdocs.yml, with the pages that it does not name at the end."""
    settings = yaml.safe_load((SITE / "mkdocs.yml").read_text(encoding="utf-8"))
    named = set(re.findall(r"[\w./-]+\.md", str(settings["nav"])))
    rest = [page.as_posix() for page in pages if page.as_posix() not in named]
    settings["nav"][-1]["More"] += rest
    for folder in ("docs_dir", "site_dir"):
        settings[folder] = str((SITE / settings[folder]).resolve())
    written = ROOT / "build" / "mkdocs.yml"
    written.write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
    return written


def main():
    pages = sources()
    stage(pages)
    build = ["mkdocs", "build", "--strict", "--clean", "--config-file", str(configuration(pages))]
    if subprocess.run(build, check=False).returncode != 0:
        return 1
    broken = links.broken(ROOT / "build" / "site")
    for page, link in broken:
        print(f"{page}: {link} leads nowhere")
    print(f"{len(pages) + len(api.HEADERS)} pages in build/site, {len(broken)} broken links")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
