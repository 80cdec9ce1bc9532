"""A page of print that is shared as a screen, and how much of it can be read in a picture."""

import collections
import io
import os
import subprocess

from PIL import Image

from support import CLIENTS

# As many words as fill the page.
WORDS = (CLIENTS / "tests" / "words.txt").read_text().split() * 4
# Draws words on a white page of 1280×720 in 12 points, which are 16 pixels; returns them, line by line. `turn` draws
# others.
DRAW_PAGE = """
(words => {
  const canvas = document.createElement('canvas'), pen = canvas.getContext('2d');
  [canvas.width, canvas.height] = [1280, 720];
  const draw = () => {
    pen.fillStyle = '#fff';
    pen.fillRect(0, 0, 1280, 720);
    pen.fillStyle = '#111';
    pen.font = '12pt "Noto Sans", "DejaVu Sans", sans-serif';
    const lines = [[]];
    for (const word of words) {
      if (pen.measureText([...lines.at(-1), word].join(' ')).width > 1200) lines.push([]);
      lines.at(-1).push(word);
    }
    lines.splice(26);
    lines.forEach((line, number) => pen.fillText(line.join(' '), 40, 44 + number * 26));
    return lines.map(line => line.join(' '));
  };
  window.turn = next => {
    words = next;
    return draw();
  };
  // Chromium sends a frame of a canvas when it is drawn.
  setInterval(draw, 200);
  navigator.mediaDevices.getDisplayMedia = async () => canvas.captureStream(5);
  return draw();
})
"""
# The largest tile of the received picture as a PNG, at the size of the received picture.
TAKE_SCREEN = """
(() => {
  const video = document.getElementById('mix'), info = probe.last('tiles'), canvas = document.createElement('canvas');
  const tile = info.tiles.reduce((a, b) => (a.width * a.height >= b.width * b.height ? a : b)), scale = video.videoWidth / info.width;
  [canvas.width, canvas.height] = [tile.width * scale, tile.height * scale];
  canvas.getContext('2d').drawImage(video, tile.x * scale, tile.y * scale, canvas.width, canvas.height, 0, 0, canvas.width, canvas.height);
  return [canvas.toDataURL('image/png').split(',')[1], video.videoHeight];
})()
"""


def read_text(picture, scratch):
    """The words that tesseract reads in a PNG, of three times the size, since it expects print of 300 dots an inch."""
    image = Image.open(io.BytesIO(picture)).convert("L")
    image.resize((image.width * 3, image.height * 3), Image.Resampling.LANCZOS).save(scratch / "text.png")
    # Its threads wait for each other by spinning: beside a call on two cores a page takes them half a minute.
    alone = os.environ | {"OMP_THREAD_LIMIT": "1"}
    read = subprocess.run(["tesseract", scratch / "text.png", "-", "--psm", "6"], capture_output=True, text=True, check=True, env=alone)
    return read.stdout.split()


def part_read(lines, picture, scratch):
    """The part of the words of a page that tesseract reads in a PNG of it."""
    wanted, found = collections.Counter(" ".join(lines).split()), collections.Counter(read_text(picture, scratch))
    return (wanted & found).total() / wanted.total()
