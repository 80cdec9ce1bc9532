import RoomMedia

/// One change of a room, and what of it differs: found out once, for all who follow it.
struct RoomChange {
    let old: Room
    let new: Room
    /// Whether every member is as before. Who speaks is no part of a member.
    let isSameMembers: Bool
    let isSameBreakout: Bool
    /// Whether the same recordings run or are paused.
    let isSameRecordings: Bool
    /// Whether everyone who speaks did so before.
    let isSameSpeaking: Bool
    /// Whether the dominant speaker of each group is the same.
    let isSameSpeakers: Bool
    /// Whether nothing differs that decides who sees what.
    let isSamePictures: Bool
    /// The members of both states that differ.
    let changedMembers: [(before: Member, now: Member)]

    /// - Parameter isOfSpeech: only who speaks has changed, and nothing else is compared.
    init(from old: Room, to new: Room, isOfSpeech: Bool = false) {
        (self.old, self.new) = (old, new)
        isSameMembers = isOfSpeech || old.members == new.members
        isSameBreakout = isOfSpeech || old.breakout == new.breakout
        isSameRecordings = isOfSpeech || old.recordings.map(\.id) == new.recordings.map(\.id)
        isSamePictures = isOfSpeech || isSameMembers && new.hasSamePictures(as: old)
        let isSameSpeech = old.speech == new.speech
        isSameSpeaking = isSameSpeech || old.speech.mapValues(\.speaking) == new.speech.mapValues(\.speaking)
        isSameSpeakers = isSameSpeech || old.speech.compactMapValues(\.active) == new.speech.compactMapValues(\.active)
        changedMembers = isSameMembers ? [] : new.changedMembers(since: old)
    }

    /// The members before, by their ids: made at each call, since most changes tell nobody of another member.
    var membersBefore: [String: Member] { Dictionary(old.members.map { ($0.id, $0) }) { first, _ in first } }

    /// Whether everyone is in the group as before, and sees the same recordings.
    var isSameInGroups: Bool { isSameMembers && isSameBreakout && isSameRecordings }

    /// Whether somebody is not recorded any more.
    var leavesOutMore: Bool { changedMembers.contains { $0.before.isRecorded && !$0.now.isRecorded } }

    /// The members of both states that get another view now.
    var movedViews: [String: ViewID] {
        if isSamePictures { return [:] }
        let before = old.views
        return new.views.filter { id, view in before[id].map { $0 != view } ?? false }
    }
}
