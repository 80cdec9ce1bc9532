// The menu of layouts, for everyone or only for the user. `layouts.js` loads it when it is opened first.

import markup from './layout-menu.html';

import * as address from '/assets/address.js';
import { element } from '/assets/elements.js';
import { addDialogs, language, region, t } from '/assets/words.js';
// What all scripts share stays one file: esbuild makes one of each set of files that some of them share.
import '/assets/lobby.js';

const $ = id => document.getElementById(id);

// Before anything below binds its elements.
addDialogs(markup);

/// `layoutTitle`: of layouts.js.
export async function openLayouts(call, layoutTitle) {
  const choose = (name, scope) => {
    call.chooseLayout(name, scope);
    $('layout-menu').close();
  };
  await showLayouts(call, layoutTitle, choose);
  const forAll = document.querySelector('[name=scope][value=room]');
  forAll.disabled = !call.mayArrange;
  // What was chosen for everyone once is not what is chosen next.
  document.querySelector('[name=scope][value=me]').checked = true;
  $('layout-locked').hidden = call.mayArrange;
  $('layout-menu').showModal();
}

async function showLayouts(call, layoutTitle, choose) {
  const { layout: current, mine } = call;
  const headers = address.token() ? { Authorization: `Bearer ${address.token()}` } : {};
  const layouts = await fetch('/api/layouts', { headers }).then(response => (response.ok ? response.json() : [])).catch(() => []);
  if (!layouts.length) $('layouts').replaceChildren(element('p', { textContent: t('layout.none') }));
  if (!layouts.length) return;
  const back = element('button', { type: 'button', id: 'layout-back', className: 'whole' }, t('layout.back'), element('small', { textContent: t('layout.back.about') }));
  back.onclick = () => { call.commonPicture(); $('layout-menu').close(); };
  $('layouts').replaceChildren(...(mine ? [back] : []), ...layouts.map(layout => {
    const button = element('button', { type: 'button' }, drawing(layout.example ?? []), element('span', { textContent: layoutTitle(layout.name) }), element('small', { dir: 'auto', textContent: layout.descriptions?.[region] ?? layout.descriptions?.[language] ?? layout.description ?? '' }));
    button.dataset.layout = layout.name;
    button.setAttribute('aria-pressed', String(layout.name === (mine?.name ?? current)));
    button.onclick = () => choose(layout.name, document.querySelector('[name=scope]:checked').value);
    return button;
  }));
}

/// A small picture of a layout's example: its tiles, the largest in another colour.
function drawing(example) {
  const make = (tag, attributes) => {
    const made = document.createElementNS('http://www.w3.org/2000/svg', tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  };
  const [width, height, gap] = [160, 90, 1.5];
  const largest = example.reduce((most, { width, height }) => Math.max(most, width * height), 0);
  const svg = make('svg', { viewBox: `0 0 ${width} ${height}`, class: 'drawing', 'aria-hidden': 'true' });
  svg.append(...example.map(tile => make('rect', {
    x: tile.x * width + gap, y: tile.y * height + gap, width: Math.max(1, tile.width * width - 2 * gap), height: Math.max(1, tile.height * height - 2 * gap),
    rx: 3, class: tile.width * tile.height > largest * 0.9 && largest > 0.3 ? 'large' : '',
  })));
  return svg;
}
