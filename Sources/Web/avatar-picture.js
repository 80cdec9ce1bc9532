// Makes the user's picture of a file. `avatar.js` loads it when one is chosen.

/// Of the picture, in pixels: the server makes no larger one of it.
const SIDE = 256;

/// The middle of a picture as a small JPEG, upright as its camera was held (EXIF).
export async function small(file) {
  const bitmap = await createImageBitmap(file), side = Math.min(bitmap.width, bitmap.height);
  const canvas = document.createElement('canvas'), pen = canvas.getContext('2d');
  [canvas.width, canvas.height] = [SIDE, SIDE];
  pen.fillStyle = '#fff';
  pen.fillRect(0, 0, SIDE, SIDE);
  pen.drawImage(bitmap, (bitmap.width - side) / 2, (bitmap.height - side) / 2, side, side, 0, 0, SIDE, SIDE);
  bitmap.close();
  return canvas.toDataURL('image/jpeg', .85);
}
