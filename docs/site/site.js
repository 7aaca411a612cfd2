// What the theme makes in the page: named, reached by keys where it can be scrolled, not where it is unseen.
const reach = () => {
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
  document.querySelectorAll(".md-code__nav:not([aria-label])").forEach((bar) =>
    bar.setAttribute("aria-label", `Copy ${bar.closest("[id]").id}`));
  document.querySelectorAll(".md-option[aria-hidden]").forEach((part) => {
    part.tabIndex = -1;
  });
  document.querySelectorAll(".md-typeset__scrollwrap, pre > code").forEach((part) => {
    part.tabIndex = 0;
  });
  document.querySelectorAll('.md-typeset p:has(> img[src*="pictures/"])').forEach((part) => {
    if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
  });
};
new MutationObserver(reach).observe(document.body, { childList: true, subtree: true });
reach();
