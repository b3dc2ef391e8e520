"use strict";
for (const button of document.querySelectorAll("button[data-copy]")) {
  const source = button.parentElement.querySelector("pre");
  const label = button.textContent;
  button.hidden = false;
  button.addEventListener("click", async () => {
    let done = true;
    try {
      await navigator.clipboard.writeText(source.textContent);
    } catch {
      const range = document.createRange();
      range.selectNodeContents(source);
      const selection = getSelection();
      selection.removeAllRanges();
      selection.addRange(range);
      // The selection alone would lose the newline at the end.
      const whole = (event) => {
        event.clipboardData.setData("text/plain", source.textContent);
        event.preventDefault();
      };
      document.addEventListener("copy", whole);
      done = document.execCommand("copy");
      document.removeEventListener("copy", whole);
    }
    button.textContent = done ? "Copied" : "Selected: press Ctrl+C";
    setTimeout(() => { button.textContent = label; }, 2000);
  });
}
