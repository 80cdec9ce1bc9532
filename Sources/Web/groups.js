// Breakout groups, of which most calls have none: their part of the page comes with the first word of them.

import { Later } from '/assets/later.js';
import { tell } from '/assets/notice-board.js';
import { showPeople } from '/assets/roster.js';

/// The receiver of the chat that means all groups. No participant has it as its id.
export const ALL = '*';

const script = new Later(() => import('/assets/breakout.js'));
const page = { tell, showPeople, ALL };

/// The part, once it is there.
export const loaded = () => script.loaded;

/// Shows what the server has told of the groups of a call.
export const followGroups = async call => (await script.get())?.follow(call, page);

/// Lets a moderator make and change groups.
export const openGroups = async call => (await script.get())?.open(call, page);
