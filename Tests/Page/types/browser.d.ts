// What `scripts/lint` does not check: which kind of element an id or a selector finds, and parts of browsers that the
// compiler's library does not know.

interface ParentNode {
  querySelector(selectors: string): any;
  querySelectorAll(selectors: string): any;
}
interface Document { getElementById(id: string): any; }
interface Element { closest(selectors: string): any; }
interface EventTarget {
  closest?: any;
  matches?: any;
  addEventListener(type: string, listener: (event: any) => void, options?: any): void;
}
/// For whoever looks at the delay of the stream from outside.
interface Window { tesseraPlayer?: any; }
interface Navigator { readonly wakeLock?: any; readonly userAgentData?: any; }
