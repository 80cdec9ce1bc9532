"""Breakout groups with media: who sees and hears whom, on the connection that everybody has, without another offer."""

import asyncio

import pytest

from support.aiortc_peer import AiortcPeer
from support.media import TONES
from support.people import PythonPeer, eventually, picture_is_right


async def hears(peer, others, everyone):
    """A fault unless the peer hears just these."""
    heard = await peer.heard([each.frequency for each in everyone])
    wrong = [each.name for each in everyone if heard.get(each.frequency) != (each in others)]
    return f"{peer.name} hears {heard}, wrong: {wrong}" if wrong else None


async def all_hear(wanted, everyone):
    for peer, others in wanted:
        if fault := await hears(peer, others, everyone):
            return fault
    return None


@pytest.mark.usefixtures("needs_address", "good_line")
def test_groups_see_and_hear_themselves_alone_on_the_same_connection(server):
    async def run():
        people = []
        for name, colour, frequency in [("Host", "red", TONES[0]), ("Ann", "green", TONES[1]), ("Bob", "blue", TONES[2]), ("Cem", "yellow", TONES[3])]:
            people.append(await PythonPeer(await AiortcPeer(server, "groups", name, colour, frequency).join()).joined())
        host, ann, bob, cem = people

        def ask(**message):
            return host.peer.send(type="breakout", **message)

        async def pictures(*groups):
            for group in groups:
                if fault := await picture_is_right(group):
                    return fault
            return None

        try:
            await eventually(lambda: pictures(people), 15, "one picture")
            sections = [peer.peer.pc.localDescription.sdp for peer in people]
            await ask(action="make", names=["One", "Two"])
            await ask(action="assign", places={ann.id: 1, bob.id: 1, cem.id: 2})
            await ask(action="open")
            await eventually(lambda: pictures([host], [ann, bob], [cem]), 8, "the pictures of the groups")
            await eventually(lambda: all_hear([(host, []), (ann, [bob]), (bob, [ann]), (cem, [])], people), 10, "the sound of the groups")

            # The host hears both groups, looks into the first, and is neither seen nor heard there until it speaks to all.
            await ask(action="listen", groups=[1, 2], look=1)
            await eventually(lambda: all_hear([(host, [ann, bob, cem]), (ann, [bob])], people), 10, "the sound of a host who listens")
            assert set((await host.tile_colours()).values()) == {"green", "blue"} and set((await ann.tile_colours()).values()) == {"green", "blue"}
            await ask(action="speakToAll", on=True)
            await eventually(lambda: all_hear([(ann, [host, bob]), (cem, [host])], people), 10, "the sound of a host who speaks to all")

            # One is moved, and everybody is called back.
            await ask(action="speakToAll", on=False)
            await ask(action="listen", groups=[])
            await ask(action="assign", places={bob.id: 2})
            await eventually(lambda: pictures([host], [ann], [bob, cem]), 8, "the pictures after a move")
            await ask(action="callBack", countdown=2)
            await eventually(lambda: pictures(people), 12, "one picture again")
            together = [(peer, [other for other in people if other is not peer]) for peer in people]
            await eventually(lambda: all_hear(together, people), 10, "the sound of everybody")
            for peer, sdp in zip(people, sections):
                assert [m["type"] for m in peer.peer.messages if m["type"] in ("offer", "answer")] == ["answer"], "one negotiation"
                assert peer.peer.pc.localDescription.sdp == sdp
                states = [m["state"] for m in peer.peer.messages if m["type"] == "breakout"]
                assert states[-1] == "none" and "open" in states and "ending" in states, states
        finally:
            for peer in people:
                await peer.peer.close()
    asyncio.run(asyncio.wait_for(run(), 120))
