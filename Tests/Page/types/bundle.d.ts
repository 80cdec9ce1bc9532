// What scripts/bundle_page.py makes of an import of words and of dialogs, and what it puts into the pages (reload.js).
declare module '*.json' {
  const address: string;
  export default address;
}
declare module '*.html' {
  const markup: string;
  export default markup;
}
interface Window {
  tesseraReload: () => boolean;
}
