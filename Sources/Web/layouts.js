// The names of layouts, and the way to their menu.

import { Later } from '/assets/later.js';
import { has, t } from '/assets/words.js';

const menu = new Later(() => import('/assets/layout-menu.js'));

export async function openLayouts(call) { (await menu.get())?.openLayouts(call, layoutTitle); }

/// The name of a layout; that of a shipped one in the user's language.
export const layoutTitle = name => (has(`layout.name.${name}`) ? t(`layout.name.${name}`) : (name[0].toUpperCase() + name.slice(1)).replaceAll('-', ' '));
