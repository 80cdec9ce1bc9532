// The picture of the call on this screen: names and signs over tiles, a tile enlarged by a tap.

import { element } from '/assets/elements.js';
import { arrival } from '/assets/people.js';
import { microphone, raised } from '/assets/roster.js';
import { t } from '/assets/words.js';

const $ = id => document.getElementById(id);

/// The scale and the corner of the displayed canvas where this part of it fills the stage.
function placement({ x = 0, y = 0, width, height }, { clientWidth, clientHeight }) {
  const scale = Math.min(clientWidth / width, clientHeight / height);
  return { scale, left: (clientWidth - width * scale) / 2 - x * scale, top: (clientHeight - height * scale) / 2 - y * scale };
}

/// The picture of the enlarged tile; null: none.
let zoomed = null;

/// A participant may have two tiles, of the camera and of the screen.
const pictureOf = tile => `${tile.participant} ${tile.source ?? 'camera'}`;

/// Enlarges a tapped tile to the stage, on this screen only; the next tap shows the whole picture again. Needed for
/// phones held upright, where the picture with all tiles is small. `showNames` then places the picture and its names.
export function zoom(tiles, video, x, y) {
  if (!tiles || !video.videoWidth) return;
  const { scale, left, top } = placement(tiles, video);
  const inside = tile => x >= left + tile.x * scale && x < left + (tile.x + tile.width) * scale && y >= top + tile.y * scale && y < top + (tile.y + tile.height) * scale;
  const hit = tiles.tiles.length > 1 && !zoomed ? [...tiles.tiles].reverse().find(inside) : null;
  zoomed = hit ? pictureOf(hit) : null;
}

/// Places the picture. Returns the scale and the corner that its canvas then has; null: there are no tiles.
function place(tiles, video) {
  const tile = zoomed && tiles?.tiles.find(tile => pictureOf(tile) === zoomed), whole = tiles && placement(tiles, video);
  video.classList.toggle('zoomed', Boolean(tile));
  if (!tile) {
    zoomed = null;
    video.style.transform = '';
    return whole;
  }
  const placed = placement(tile, video), larger = placed.scale / whole.scale;
  video.style.transform = `translate(${placed.left - whole.left * larger}px, ${placed.top - whole.top * larger}px) scale(${larger})`;
  return placed;
}

/// Shows names and signs over the tiles whose picture has no names, positioned on the displayed canvas.
export function showNames(tiles, people, video) {
  const placed = place(tiles, video);
  const shown = placed && video.videoWidth ? tiles.tiles.filter(tile => tile.label === false) : [];
  $('overlay').replaceChildren(...shown.map(tile => {
    const person = people.find(tile.participant), name = person?.name ?? '', label = element('span', { dir: 'auto' });
    label.style.left = `${placed.left + tile.x * placed.scale + 8}px`;
    label.style.top = `${placed.top + (tile.y + tile.height) * placed.scale - 32}px`;
    // The signs stand before the name, whose end may be cut off; a screen has none.
    if (person && tile.signs === false && tile.source !== 'screen') {
      const audio = arrival(person, 'audio');
      if (audio !== 'on') label.append(microphone(audio));
      if (person.hand) label.append(raised());
    }
    // Without a section of its own the camera's tile shows the screen. A second tile is the screen's.
    const isScreen = tile.source === 'screen' || (person?.presenting && !tiles.tiles.some(other => other.participant === tile.participant && other !== tile));
    label.append(isScreen ? t('picture.screen', { name }) : name);
    return label;
  }));
}
