// Runs Valgrind's dh_view.js on a file, without a browser: node dh_view.js VIEWER FILE
//
// The viewer checks the file, builds its tree and shows it, once for each order that it offers. Prints
// what it then knows of the root, and the text of the page in the first order.

const fs = require("fs");
const vm = require("vm");

class Element {
  constructor(name) {
    this.name = name;
    this.childNodes = [];
    this.classList = { add() {}, remove() {}, toggle() {}, contains: () => false };
    this.style = {};
    this.text = "";
    this.selectedIndex = 0;
  }
  appendChild(child) {
    child.parentNode = this;
    this.childNodes.push(child);
    return child;
  }
  replaceChild(child, old) {
    child.parentNode = this;
    this.childNodes[this.childNodes.indexOf(old)] = child;
    return old;
  }
  insertBefore(child, before) {
    this.childNodes.splice(this.childNodes.indexOf(before), 0, child);
    child.parentNode = this;
    return child;
  }
  removeChild(child) {
    this.childNodes.splice(this.childNodes.indexOf(child), 1);
    return child;
  }
  cloneNode() {
    return new Element(this.name);
  }
  setAttribute() {}
  addEventListener() {}
  get firstChild() {
    return this.childNodes[0];
  }
  set textContent(text) {
    this.text = text;
    this.childNodes = [];
  }
  get textContent() {
    return this.text + this.childNodes.map((child) => child.textContent).join("");
  }
}

const text = (content) => Object.assign(new Element("text"), { text: content });
const document = {
  body: new Element("body"),
  location: { search: "" },
  createElement: (name) => new Element(name),
  createTextNode: text,
};
const context = vm.createContext({ document, URLSearchParams, Intl, performance, console });
vm.runInContext(fs.readFileSync(process.argv[2], "utf8"), context);
context.file = fs.readFileSync(process.argv[3], "utf8");

// What it declares with `let` is seen by scripts of the same context alone.
const shown = vm.runInContext(
  `onLoad();
   gData = JSON.parse(file);
   buildTree();
   const pages = [];
   for (let i = 0; i < gSelectData.length; i++) {
     if (!gSelect.childNodes[i].disabled) {
       gSelect.selectedIndex = i;
       displayTree(0, 0, 0);
       pages.push(gMainDiv.textContent);
     }
   }
   const root = {
     bytes: gRoot._totalBytes, blocks: gRoot._totalBlocks, lifetimes: gRoot._totalLifetimes,
     peakBytes: gRoot._atTGmaxBytes, peakBlocks: gRoot._atTGmaxBlocks,
     endBytes: gRoot._atTEndBytes, endBlocks: gRoot._atTEndBlocks, orders: pages.length,
   };
   [JSON.stringify(root), pages[0]]`,
  context,
);
console.log(shown.join("\n"));
