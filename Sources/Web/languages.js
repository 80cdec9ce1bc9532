// Which language the page speaks, and by which region's habits it writes times and numbers, from the tags that the browser
// and the address name.

/// - `wanted`: tags in the order of preference, such as en-GB; what is none is passed over.
/// - `known`: the languages that there are words for.
/// Returns {language, region}: one of `known`, and a whole tag.
/** @param {(string | null | undefined)[]} wanted @param {string[]} known */
export function choose(wanted, known) {
  const tags = wanted.map(canonical).filter(Boolean);
  const base = tag => tag.split('-')[0].toLowerCase();
  const fitting = tags.find(tag => known.includes(base(tag)));
  // Who reads a foreign language here keeps the clock of the own region.
  return { language: fitting ? base(fitting) : 'en', region: fitting?.includes('-') ? fitting : tags[0] ?? 'en' };
}

function canonical(tag) {
  try {
    return tag ? new Intl.Locale(tag).toString() : null;
  } catch {
    return null;
  }
}
