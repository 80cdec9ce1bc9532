// The picture of the call on this screen: names over tiles, a tile enlarged by a tap.

import { element } from '/assets/elements.js';
import { t } from '/assets/words.js';

const $ = id => document.getElementById(id);

/// The scale and the corner of the displayed canvas in the stage.
function placement(tiles, video) {
  const scale = Math.min(video.clientWidth / tiles.width, video.clientHeight / tiles.height);
  return { scale, left: (video.clientWidth - tiles.width * scale) / 2, top: (video.clientHeight - tiles.height * scale) / 2 };
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

function place(tiles, video) {
  const tile = zoomed && tiles?.tiles.find(tile => pictureOf(tile) === zoomed);
  if (!tile) zoomed = null;
  video.classList.toggle('zoomed', Boolean(tile));
  if (!tile) {
    video.style.transform = '';
    return;
  }
  const { scale, left, top } = placement(tiles, video);
  const larger = Math.min(video.clientWidth / (tile.width * scale), video.clientHeight / (tile.height * scale));
  const middleX = left + (tile.x + tile.width / 2) * scale, middleY = top + (tile.y + tile.height / 2) * scale;
  video.style.transform = `translate(${video.clientWidth / 2 - middleX * larger}px, ${video.clientHeight / 2 - middleY * larger}px) scale(${larger})`;
}

/// Shows names over the tiles whose picture has none, positioned on the displayed canvas.
export function showNames(tiles, people, video) {
  const overlay = $('overlay');
  place(tiles, video);
  if (!tiles || !video.videoWidth || zoomed) return overlay.replaceChildren();
  const { scale, left, top } = placement(tiles, video);
  overlay.replaceChildren(...tiles.tiles.filter(tile => tile.label === false).map(tile => {
    const person = people.find(tile.participant), name = person?.name ?? '';
    // Without a section of its own the camera's tile shows the screen.
    const isScreen = tile.source === 'screen' || (person?.presenting && !tiles.tiles.some(other => other.participant === tile.participant && other.source === 'screen'));
    const label = element('span', { dir: 'auto', textContent: isScreen ? t('picture.screen', { name }) : name });
    label.style.left = `${left + tile.x * scale + 8}px`;
    label.style.top = `${top + (tile.y + tile.height) * scale - 32}px`;
    return label;
  }));
}
