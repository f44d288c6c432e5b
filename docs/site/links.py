"""Links of a built site that lead nowhere: to a file or an anchor that is not there, or to another server for
something that the page is shown with.
"""

import html.parser
import pathlib
import urllib.parse


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.links, self.anchors, self.loaded = [], set(), []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.anchors |= {attributes[name] for name in ("id", "name") if attributes.get(name)}
        if tag == "a" and attributes.get("href"):
            self.links.append(attributes["href"])
        self.loaded += [attributes[name] for name in ("src", "href") if tag != "a" and attributes.get(name)]


def broken(site):
    """(page, link) of each."""
    pages = {path: Page(path) for path in sorted(pathlib.Path(site).rglob("*.html")) if path.name != "404.html"}
    result = []
    for path, page in pages.items():
        wrong = [link for link in page.loaded if is_remote(link) or not leads_somewhere(path, link, pages)]
        wrong += [link for link in page.links if not is_remote(link) and not leads_somewhere(path, link, pages)]
        result += [(path.relative_to(site).as_posix(), link) for link in wrong]
    return result


def is_remote(link):
    parts = urllib.parse.urlsplit(link)
    return bool(parts.scheme and parts.scheme != "data") or bool(parts.netloc)


def leads_somewhere(path, link, pages):
    parts = urllib.parse.urlsplit(link)
    if parts.scheme == "data":
        return True
    target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target = target / "index.html"
    if not target.is_file():
        return False
    return not parts.fragment or target not in pages or urllib.parse.unquote(parts.fragment) in pages[target].anchors
