extension Room {
    /// Takes over a decision about whether a member is recorded.
    ///
    /// - Throws: `conflict` where the member is to be recorded and only others can decide so.
    mutating func setRecorded(_ id: String, _ isRecorded: Bool, by who: RecordingRefusal) throws(ConferenceError) {
        try change(id) { member throws(ConferenceError) in
            guard isRecorded else {
                member.unrecordedBy.insert(who)
                return
            }
            if member.unrecordedBy.remove(who) != nil { return }
            guard let other = member.unrecordedBy.min() else { return }
            let why =
                switch other {
                case .own: "“\(member.name)” does not want to be recorded, and only they can change that."
                case .token: "The token of “\(member.name)” says that they are not recorded: join with another one."
                case .host: "A moderator has left you out of the recording: ask them to change that."
                }
            throw .conflict(why)
        }
    }
}
