// The side panel with its tabs, people and chat.

import { t } from '/assets/words.js';

const $ = id => document.getElementById(id);
const TABS = ['people', 'chat'];

let openTab = null;

/// Opens a tab of the side panel; null closes it and returns the focus to the button of the bar.
export function showSide(tab) {
  if (!tab && openTab) $(`open-${openTab}`).focus();
  openTab = tab;
  $('side').hidden = !openTab;
  for (const name of TABS) {
    $(name).hidden = openTab !== name;
    $(`tab-${name}`).setAttribute('aria-selected', String(openTab === name));
    $(`tab-${name}`).tabIndex = openTab === name ? 0 : -1;
    $(`open-${name}`).setAttribute('aria-expanded', String(openTab === name));
  }
  // The panel lies before the bar, so who opened it by a key would have to go back.
  if (openTab === 'people') $('tab-people').focus();
  if (openTab === 'chat') {
    chatOpened();
    unread(0);
    $('messages').scrollTop = $('messages').scrollHeight;
    // On a phone the keyboard would cover the messages.
    $(matchMedia('(pointer: coarse)').matches ? 'tab-chat' : 'chat-text').focus();
  }
}

/// What is done when the chat is opened.
let chatOpened = () => {};
export const whenChatOpens = act => { chatOpened = act; };

export const isSideOpen = () => openTab !== null;
export const isChatOpen = () => openTab === 'chat';

let count = 0;
export function unread(value = count + 1) {
  count = value;
  $('unread').textContent = count;
  $('unread').hidden = count === 0;
  $('open-chat').setAttribute('aria-label', count ? t('chat.unread', { count }) : t('chat'));
}

export function bindSide() {
  for (const name of TABS) {
    $(`open-${name}`).onclick = () => showSide(openTab === name ? null : name);
    $(`tab-${name}`).onclick = () => showSide(name);
    $(`tab-${name}`).onkeydown = ({ key }) => {
      if (key !== 'ArrowLeft' && key !== 'ArrowRight') return;
      const other = TABS.find(each => each !== name);
      showSide(other);
      $(`tab-${other}`).focus();
    };
  }
  $('side-close').onclick = () => showSide(null);
}
