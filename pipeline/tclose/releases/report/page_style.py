"""The style of reports: of screens, phones and paper; contrasts of 4.5 to 1 and more."""

import re

STYLE = """
:root{--ink:#1b1f24;--soft:#4d5663;--line:#c9d0d8;--pale:#f3f5f8;--table:#1f5fa8;--far:#a8450a}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;color:var(--ink);background:#fff;font:16px/1.55 system-ui,-apple-system,"Segoe UI",
Roboto,"Helvetica Neue",Arial,sans-serif;overflow-wrap:anywhere}
header,main,footer{max-width:62rem;margin:0 auto;padding:0 1.25rem}
header{padding-top:2rem}
.kicker{margin:0;color:var(--soft);font-size:.875rem;letter-spacing:.04em;text-transform:uppercase}
h1{margin:.15em 0 .4em;font-size:2rem;line-height:1.2}
h2{margin:0 0 .5em;font-size:1.35rem;line-height:1.3}
h3{margin:1.6em 0 .4em;font-size:1.05rem}
p{max-width:44rem;margin:.5em 0}
section{margin:2rem 0 0;padding-top:1.5rem;border-top:1px solid var(--line)}
.verdict{display:inline-block;margin:.4em 0;padding:.3em .8em;border-radius:.3em;font-weight:600;
background:#14653a;color:#fff}
.verdict.fail{background:#a11b1b}
.facts{display:grid;gap:.6rem;margin:1rem 0;
grid-template-columns:repeat(auto-fill,minmax(min(9.5rem,calc(50% - .3rem)),1fr))}
.facts .long{grid-column:span 2}
.facts div{padding:.6rem .8rem;background:var(--pale);border-radius:.3rem}
dt{color:var(--soft);font-size:.85rem}
dd{margin:0;font-weight:600}
ul{max-width:44rem;padding-left:1.25rem}
li{margin:.25em 0}
.pictures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,20rem),1fr));gap:1.5rem}
figure{margin:1rem 0;max-width:34rem;break-inside:avoid}
figcaption{font-weight:600;margin-bottom:.4rem}
svg{display:block;width:100%;height:auto}
svg text{font:13px system-ui,-apple-system,"Segoe UI",Roboto,Arial,sans-serif;fill:var(--ink)}
details{margin-top:.4rem;font-size:.9rem}
summary{cursor:pointer;color:var(--table)}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;margin:.8rem 0;font-size:.925rem}
caption{text-align:left;font-weight:600;padding-bottom:.4rem}
th,td{text-align:left;vertical-align:top;padding:.4rem .7rem .4rem 0;
border-bottom:1px solid var(--line);min-width:4.5rem}
thead th{color:var(--soft);font-size:.85rem}
thead th,td{overflow-wrap:normal}
tbody th{min-width:6rem;overflow-wrap:break-word}
.whole{white-space:nowrap}
#signature td{height:3rem;border-left:1px solid var(--line)}
.columns{display:grid;gap:.8rem;padding:0;max-width:none;list-style:none}
.columns li{margin:0;padding:.7rem .9rem;border:1px solid var(--line);border-radius:.3rem;
break-inside:avoid}
.columns h3{margin:0}
.columns p{margin:.25em 0}
.role{color:var(--soft);font-size:.9rem}
.advice{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,20rem),1fr));gap:0 2rem}
footer{margin-top:2.5rem;padding-top:1rem;padding-bottom:2rem;color:var(--soft);font-size:.9rem}
.skip{position:absolute;left:-99rem}
.skip:focus{left:1rem;top:.5rem;background:#fff;padding:.3rem}
a{color:var(--table)}
:focus-visible{outline:3px solid var(--table);outline-offset:2px}
@media (max-width:40rem){h1{font-size:1.6rem}
header,main,footer{padding-left:1rem;padding-right:1rem}
svg text{font-size:16px}
tbody th{min-width:9rem;overflow-wrap:anywhere}}
@media screen and (max-width:40rem){.stack thead{display:none}
.stack :is(table,caption,tbody,tr,th,td){display:block;overflow-wrap:anywhere}
.stack tr{padding:.5rem 0;border-bottom:1px solid var(--line)}
.stack :is(th,td){padding:.1rem 0;border:0}
.stack td::before{content:attr(data-head) ": ";color:var(--soft)}}
@media print{@page{size:A4;margin:16mm}body{font-size:10.5pt}
header,main,footer{max-width:none;padding:0}
section{break-inside:auto;margin-top:1rem;padding-top:.8rem}
h2,h3,section>p:has(+:is(figure,.pictures,.wide,ul)){break-after:avoid}
.pictures,.columns{gap:.5rem 1rem}.wide,tr,.facts div,li{break-inside:avoid}
.wide{overflow:visible}p{orphans:3;widows:3}
section:last-child{break-inside:avoid;break-after:avoid}
footer{break-before:avoid;margin-top:1rem;padding-bottom:0}
svg text{font-size:16px}
details,.skip{display:none}figure{max-width:88mm;margin:.5rem 0}
.facts div{border:1px solid var(--line)}
.pictures,.columns{grid-template-columns:1fr 1fr}
#meaning{display:grid;grid-template-columns:1fr 74mm;gap:0 1.5rem;align-content:start}
#meaning h2{grid-column:1/-1}#meaning figure{grid-column:2;grid-row:2/span 9}
*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
""".strip()


def style_release(name: str, release_id: str) -> str:
    """The style of a page about a release, with its name and the number of the page on paper.

    Margins of pages are drawn by Chromium and what is made of it; other browsers print headers and
    footers of their own.
    """
    named = f"{name}, release {release_id}"
    content = re.sub(r"[^\w .,-]", lambda match: f"\\{ord(match[0]):x} ", named)
    font = "font:8pt system-ui,Arial,sans-serif;color:#4d5663"
    return (
        f'{STYLE}\n@page{{@bottom-left{{content:"{content}";{font}}}'
        f'@bottom-right{{content:counter(page) " of " counter(pages);{font}}}}}'
    )
