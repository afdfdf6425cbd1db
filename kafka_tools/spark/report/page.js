(function () {
  "use strict";
  function value(cell) {
    var raw = cell.getAttribute("data-value");
    var text = raw === null ? cell.textContent.trim() : raw;
    var number = Number(text);
    return text !== "" && !Number.isNaN(number) ? number : text.toLowerCase();
  }
  function compare(one, other) {
    if (typeof one === typeof other) { return one < other ? -1 : one > other ? 1 : 0; }
    return typeof one === "number" ? -1 : 1;
  }
  document.querySelectorAll("table.sortable").forEach(function (table) {
    var body = table.tBodies[0];
    Array.prototype.forEach.call(table.tHead.rows[0].cells, function (head, column) {
      head.classList.add("sorts");
      head.tabIndex = 0;
      function sort() {
        var down = head.getAttribute("aria-sort") === "ascending";
        Array.prototype.forEach.call(table.tHead.rows[0].cells, function (other) { other.removeAttribute("aria-sort"); });
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        var rows = Array.prototype.map.call(body.rows, function (row) { return [value(row.cells[column]), row]; });
        rows.sort(function (one, other) { return (down ? -1 : 1) * compare(one[0], other[0]); });
        rows.forEach(function (pair) { body.appendChild(pair[1]); });
      }
      head.addEventListener("click", sort);
      head.addEventListener("keydown", function (event) { if (event.key === "Enter") { sort(); } });
    });
  });
  var table = document.getElementById("findings");
  if (!table) { return; }
  var search = document.getElementById("search");
  var kind = document.getElementById("kind");
  var boxes = document.querySelectorAll("input[data-severity]");
  var shown = document.getElementById("shown");
  function filter() {
    var words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    var wanted = {};
    boxes.forEach(function (box) { wanted[box.getAttribute("data-severity")] = box.checked; });
    var count = 0;
    Array.prototype.forEach.call(table.tBodies[0].rows, function (row) {
      var text = row.textContent.toLowerCase();
      var fits = wanted[row.getAttribute("data-severity")] && (!kind.value || row.getAttribute("data-kind") === kind.value) &&
        words.every(function (word) { return text.indexOf(word) >= 0; });
      row.hidden = !fits;
      if (fits) { count += 1; }
    });
    shown.textContent = String(count);
  }
  search.addEventListener("input", filter);
  kind.addEventListener("change", filter);
  boxes.forEach(function (box) { box.addEventListener("change", filter); });
  document.querySelector(".filters").hidden = false;
  // Remarks wait until they are asked for where there is something worse to see.
  if (document.querySelector("tr[data-severity=error], tr[data-severity=warning]")) {
    document.querySelector("input[data-severity=info]").checked = false;
    filter();
  }
}());
