// What scripts/bundle_page.py makes of an import of words, and what it puts into the pages (reload.js).
declare module '*.json' {
  const address: string;
  export default address;
}
interface Window {
  tesseraReload: () => boolean;
}
