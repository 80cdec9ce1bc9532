// The way to invite others. The dialog comes when it is opened first.

import * as address from '/assets/address.js';
import { Later } from '/assets/later.js';

const $ = id => document.getElementById(id);
const dialog = new Later(() => import('/assets/invite-dialog.js'));

/// Who is alone is shown the way to invite others, unless somebody waits to be let in.
export function showAlone(call) {
  $('alone').hidden = address.isEmbedded || call.people.list.length + call.people.viewers > 1 || (call.isModerator && call.waiting.length > 0);
}

/// `call()`: the call that runs.
export function bindInvitation(call) {
  for (const id of ['open-invite', 'alone-invite']) $(id).onclick = async () => (await dialog.get())?.openInvitation(call);
}
