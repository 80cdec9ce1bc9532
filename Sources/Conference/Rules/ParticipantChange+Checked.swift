extension ParticipantChange {
    /// The checked change, with the displayed form of the name.
    ///
    /// - Throws: the rule that the change breaks.
    func checked() throws(ConferenceError) -> ParticipantChange {
        var change = self
        if let volume, !Self.allowedVolume.contains(volume) {
            throw .badRequest(
                "volume: a number from \(Int(Self.allowedVolume.lowerBound)) to \(Int(Self.allowedVolume.upperBound))")
        }
        if let name {
            guard let shown = Names.shown(name) else {
                throw .badRequest("name: 1 to \(Names.allowedLength.upperBound) characters")
            }
            change.name = shown
        }
        return change
    }
}
