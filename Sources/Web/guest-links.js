// Guest links in the invitation, for moderators: made with a role, an end and a number of guests, listed, copied, revoked.

import { element } from '/assets/elements.js';
import { t, language } from '/assets/words.js';

const $ = id => document.getElementById(id);

/// Asks the server as the user's seat. Returns the answer's JSON; null where there is none.
async function ask(call, method, id = '', body = null) {
  const { room, id: seat, secret } = call.seat;
  const answer = await fetch(`/api/rooms/${encodeURIComponent(room)}/links${id && `/${id}`}`, {
    method, headers: { Authorization: `Bearer ${seat}.${secret}`, ...(body ? { 'Content-Type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const told = await answer.json().catch(() => null);
  if (!answer.ok) throw Object.assign(new Error(told?.error?.message ?? String(answer.status)), { code: told?.error?.code });
  return told;
}

const until = date => new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'short' }).format(new Date(date));

export class GuestLinks {
  /// `call()`: the call that runs. `choose(link)`: the invitation is for this one now; null: for the room's own link.
  constructor(call, choose) {
    this.call = call;
    this.choose = choose;
    this.chosen = null;
    $('guest-make').onclick = () => this.make();
  }

  /// Shows the section to moderators, with the links that there are.
  async show() {
    this.chosen = null;
    this.choose(null);
    $('guest-note').textContent = '';
    $('guest-links').hidden = !this.call()?.isModerator;
    $('guest-list').replaceChildren();
    if (!$('guest-links').hidden) await this.list();
  }

  async list() {
    try {
      this.fill(await ask(this.call(), 'GET'));
    } catch (error) {
      $('guest-note').textContent = t('guest.failed', { message: error.message });
    }
  }

  fill(links) {
    if (this.chosen && !links.some(({ id }) => id === this.chosen)) this.take(null);
    $('guest-list').replaceChildren(...links.map(link => {
      const { id, role, expiresAt, uses, used, url } = link;
      const text = t(uses ? 'guest.counted' : 'guest.any', { role: t(`role.${role}`), until: until(expiresAt), used, uses });
      const button = (words, label, act) => {
        const made = element('button', { type: 'button', textContent: words });
        made.setAttribute('aria-label', label);
        made.onclick = act;
        return made;
      };
      const use = button(t('guest.use'), t('guest.use.this', { text }), () => this.take(link));
      // After a restart the server has a digest of the link only.
      use.hidden = !url;
      use.setAttribute('aria-pressed', String(id === this.chosen));
      return element('li', {}, element('span', { textContent: text }), use, button(t('guest.revoke'), t('guest.revoke.this', { text }), () => this.revoke(id)));
    }));
  }

  /// The invitation is for this link; for the room's own where it was for this one, or there is none.
  take(link) {
    const isSame = !link || link.id === this.chosen;
    this.chosen = isSame ? null : link.id;
    this.choose(isSame ? null : new URL(link.url, location.href).href);
    for (const button of $('guest-list').querySelectorAll('[aria-pressed]')) button.setAttribute('aria-pressed', 'false');
  }

  async change(act) {
    $('guest-note').textContent = '';
    $('guest-make').disabled = true;
    try {
      await act();
    } catch (error) {
      $('guest-note').textContent = t('guest.failed', { message: error.message });
    }
    $('guest-make').disabled = false;
  }

  make() {
    return this.change(async () => {
      const uses = Number($('guest-uses').value);
      const link = await ask(this.call(), 'POST', '', {
        role: $('guest-role').value, expiresIn: Number($('guest-end').value), ...(uses ? { uses } : {}),
      });
      this.take(link);
      this.chosen = link.id;
      await this.list();
      $('guest-note').textContent = t('guest.made');
    });
  }

  revoke(id) {
    return this.change(async () => {
      let note = 'guest.revoked';
      await ask(this.call(), 'DELETE', id).catch(error => {
        if (error.code !== 'not_found') throw error;
        // It has ended, or another moderator was faster: the list no longer has it.
        note = 'guest.gone';
      });
      await this.list();
      $('guest-note').textContent = t(note);
    });
  }
}
