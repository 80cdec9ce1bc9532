// The figures of the link, behind its badge. The script comes when they are opened first.

import { element } from '/assets/elements.js';
import { t } from '/assets/words.js';
// What all scripts share stays one file: esbuild makes one of each set of files that some of them share.
import '/assets/lobby.js';

const rate = value => t('line.rate', { value });

/// `state`: what `Line.read` has measured; null: nothing yet. `percent`: the words for a share.
/** @param {Record<string, any> | null} state @param {(share: number | null) => string} percent */
export function showLineDetails(state, percent) {
  const { down, up, lossDown, lossUp, roundTrip, frame, framesPerSecond, codec, estimate, reason, heard, seen, forwarded } = state ?? {};
  const details = state ? [
    ['receiving', rate(down)], ['sending', rate(up)], ['lossDown', percent(lossDown)], ['lossUp', percent(lossUp)],
    ['roundTrip', roundTrip === null ? '–' : `${Math.round(roundTrip * 1000)} ms`],
    ['picture', frame ? `${frame}${framesPerSecond ? `, ${Math.round(framesPerSecond)} / s` : ''}` : '–'], ['codec', codec ?? '–'],
    ...(frame ? [['made', t(`line.made.${forwarded ? 'sent' : 'mixed'}`)]] : []),
    ...(estimate ? [['estimate', rate(estimate)]] : []), ...(reason ? [['reason', reason]] : []),
    ...(heard ? [['heard', t(`line.heard.${heard}`)], ['seen', t(`line.seen.${seen}`)]] : []),
  ] : [];
  document.getElementById('line-list').replaceChildren(...details.flatMap(([key, value]) => [
    element('dt', { textContent: t(`line.${key}`) }), element('dd', { textContent: value })]));
}
