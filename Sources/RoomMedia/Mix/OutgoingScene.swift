import Peer

/// What leaves the room (recordings, streams): the scene without the participants who are not recorded.
extension Scene {
    /// Whether somebody is seen or heard in the room who is not recorded.
    var hasUnrecorded: Bool { people.contains { !$0.isRecorded && $0.isShown } }

    /// Whether somebody who is not recorded was so in `old`.
    func leavesOut(moreThan old: Scene) -> Bool {
        let out = Set(people.lazy.filter { !$0.isRecorded }.map(\.id))
        return !out.isEmpty && old.people.contains { $0.isRecorded && out.contains($0.id) }
    }

    /// The scene as it leaves the room: those who are not recorded are avatars without voice, screen and place as
    /// speaker.
    ///
    /// - Parameter cut: see `ViewID.cut`; each view has this one.
    func outgoing(_ cut: Int) -> Scene {
        var scene = self
        let out = Set(people.lazy.filter { !$0.isRecorded }.map(\.id))
        scene.views = Dictionary(uniqueKeysWithValues: views.map { ($0.key.outgoing(cut), $0.value) })
        scene.people = people.compactMap { person in
            if person.isRecorded { return person }
            if person.source == .screen { return nil }
            var person = person
            (person.sendsVideo, person.sendsAudio) = (false, false)
            (person.isPresenting, person.isMuted) = (false, false)
            return person
        }
        var speech = speech
        speech.ranks = speech.ranks.filter { !out.contains($0.key) }
        speech.loudnessRanks = speech.loudnessRanks.filter { !out.contains($0.key) }
        speech.speaking.subtract(out)
        for (group, speaker) in speech.speakers where out.contains(speaker) {
            let others = people.lazy.filter { $0.group == group && speech.ranks[$0.id] != nil }.map(\.id)
            speech.speakers[group] = others.min { speech.ranks[$0, default: 0] < speech.ranks[$1, default: 0] }
        }
        scene.speech = speech
        return scene
    }
}
