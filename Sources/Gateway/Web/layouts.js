// The menu of layouts, for everyone or only for the user.

import * as address from '/assets/address.js';
import { element } from '/assets/elements.js';
import { t } from '/assets/words.js';

const $ = id => document.getElementById(id);

export async function openLayouts(call) {
  const choose = (name, scope) => {
    call.chooseLayout(name, scope);
    $('layout-menu').close();
  };
  await showLayouts(call, choose);
  const scopes = document.querySelectorAll('[name=scope]');
  scopes[0].disabled = !call.mayArrange;
  if (!call.mayArrange) scopes[1].checked = true;
  $('layout-locked').hidden = call.mayArrange;
  $('layout-menu').showModal();
}

async function showLayouts({ layout: current, mine }, choose) {
  const headers = address.token() ? { Authorization: `Bearer ${address.token()}` } : {};
  const layouts = await fetch('/api/layouts', { headers }).then(response => (response.ok ? response.json() : [])).catch(() => []);
  if (!layouts.length) $('layouts').replaceChildren(element('p', { textContent: t('layout.none') }));
  if (!layouts.length) return;
  const back = element('button', { type: 'button', id: 'layout-back' }, t('layout.back'), element('small', { textContent: t('layout.back.about') }));
  back.onclick = () => choose(current, 'me');
  $('layouts').replaceChildren(...(mine ? [back] : []), ...layouts.map(layout => {
    const button = element('button', { type: 'button' }, title(layout.name), element('small', { textContent: layout.description ?? '' }));
    button.dataset.layout = layout.name;
    button.setAttribute('aria-pressed', String(layout.name === (mine?.name ?? current)));
    button.onclick = () => choose(layout.name, document.querySelector('[name=scope]:checked').value);
    return button;
  }));
}

const title = name => (name[0].toUpperCase() + name.slice(1)).replaceAll('-', ' ');
