// Lets node load scripts that import others by their addresses, as the page does. Words are their keys, and what
// scripts/bundle_page.py makes of other files is empty.

import { register } from 'node:module';

const hooks = `
  const stub = text => ({ url: 'data:text/javascript,' + encodeURIComponent(text), shortCircuit: true });
  export function resolve(name, context, next) {
    if (name === '/assets/words.js') return stub('export const t = key => key; export const addWords = async () => {};');
    if (/[.](json|html)$/.test(name)) return stub('export default "";');
    return next(name.replace(/^[/]assets[/]/, ${JSON.stringify(new URL('../../../Sources/Web/', import.meta.url).href)}), context);
  }
`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
