// Who is left out of recordings and streams: the user's own choice, and what others see of it.

import { tell } from '/assets/notice-board.js';
import { remember, remembered } from '/assets/pickers.js';
import { t } from '/assets/words.js';

const $ = id => document.getElementById(id);
const SWITCHES = ['lobby-unrecorded', 'call-unrecorded'];

/// Whether the user does not want to be recorded.
export const isUnwilling = () => remembered('recorded') === 'no';

/// `call()`: the call that runs; null in the lobby.
export function bindUnrecorded(call) {
  for (const id of SWITCHES) {
    $(id).checked = isUnwilling();
    $(id).onchange = () => choose(!$(id).checked, call());
  }
}

/// Takes the user's choice, for this call and later ones.
export function choose(isRecorded, call) {
  remember('recorded', isRecorded ? 'yes' : 'no');
  for (const id of SWITCHES) $(id).checked = !isRecorded;
  call?.beRecorded(isRecorded);
}

/// Shows in the settings what is so, and says it when it changes.
export function watchUnrecorded(call) {
  let was = null;
  call.addEventListener('people', () => {
    const { me } = call;
    if (!me || me.recorded === undefined) return;
    const others = (me.unrecordedBy ?? []).filter(by => by !== 'self');
    // What a moderator or the token decided is not the user's to change.
    $('call-unrecorded').checked = !me.recorded;
    $('call-unrecorded').disabled = others.length > 0;
    $('call-unrecorded-text').textContent = others.length ? t(`unrecorded.by.${others[0]}`) : t('unrecorded.choose');
    if (was !== me.recorded && (was !== null || !me.recorded)) tell({ kind: 'told', key: 'unrecorded', text: t(me.recorded ? 'unrecorded.over' : 'unrecorded.now') });
    was = me.recorded;
  });
}
