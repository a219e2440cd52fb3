// Sets light or dark before the first paint. Not a module, because modules run later.
(() => {
  const KEY = "longhaul-theme";
  const NEXT = { auto: "light", light: "dark", dark: "auto" };
  const ICONS = { auto: "◐", light: "☀", dark: "☾" };
  const NAMES = { auto: "like the system", light: "light", dark: "dark" };

  const stored = () => {
    try {
      return NEXT[localStorage.getItem(KEY)] ? localStorage.getItem(KEY) : "auto";
    } catch {
      return "auto";
    }
  };

  const apply = (theme) => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
  };

  const label = (button, theme) => {
    button.textContent = ICONS[theme];
    button.setAttribute("aria-label", `Colours: ${NAMES[theme]}. Change to ${NAMES[NEXT[theme]]}`);
    button.title = `Colours: ${NAMES[theme]} (t)`;
  };

  let theme = stored();
  apply(theme);
  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    label(button, theme);
    button.addEventListener("click", () => {
      theme = NEXT[theme];
      apply(theme);
      label(button, theme);
      try {
        localStorage.setItem(KEY, theme);
      } catch {
        // Without storage the choice lasts as long as the page.
      }
    });
  });
})();
