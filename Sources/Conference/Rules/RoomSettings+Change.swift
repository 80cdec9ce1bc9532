import Basics

extension RoomSettings {
    /// Takes over the given values, or throws and changes none.
    mutating func apply(_ change: RoomSettingsChange) throws(ConferenceError) {
        func check(_ name: String, _ value: Int?, _ range: ClosedRange<Int>, even: Bool = false) throws(ConferenceError)
        {
            guard let value, !range.contains(value) || even && value % 2 != 0 else { return }
            throw .badRequest(
                "\(name): \(even ? "an even" : "a whole") number from \(range.lowerBound) to \(range.upperBound)")
        }
        try check("width", change.width, Self.allowed.width, even: true)
        try check("height", change.height, Self.allowed.height, even: true)
        try check("framesPerSecond", change.framesPerSecond, Self.allowed.framesPerSecond)
        try check("maxParticipants", change.maxParticipants, Self.allowed.maxParticipants)
        try check("maxViewers", change.maxViewers, Self.allowed.maxViewers)
        if let text = change.pin, !text.isEmpty {
            guard let new = RoomPIN(text) else { throw .badRequest("pin: \(RoomPIN.rule), or nothing") }
            pin = new
        } else if change.pin != nil {
            pin = nil
        }
        if let key = change.hostKey, !key.isEmpty, HostKey(key) == nil {
            throw .badRequest("hostKey: \(HostKey.rule), or nothing")
        }
        let changed = try views(change.views)
        layout = change.layout ?? layout
        onPresent = change.onPresent ?? onPresent
        width = change.width ?? width
        height = change.height ?? height
        framesPerSecond = change.framesPerSecond ?? framesPerSecond
        locked = change.locked ?? locked
        layoutLocked = change.layoutLocked ?? layoutLocked
        admit = change.admit ?? admit
        policy.muteOnEntry = change.muteOnEntry ?? policy.muteOnEntry
        policy.share = change.share ?? policy.share
        policy.chat = change.chat ?? policy.chat
        policy.unmute = change.unmute ?? policy.unmute
        maxParticipants = change.maxParticipants ?? maxParticipants
        maxViewers = change.maxViewers ?? maxViewers
        hls = change.hls ?? hls
        views = changed
    }

    /// The named views after a change.
    private func views(_ change: [String: ViewSettings?]) throws(ConferenceError) -> [String: ViewSettings] {
        var views = views
        for (name, view) in change.sorted(by: { $0.key < $1.key }) {
            guard ViewSettings.isName(name), name != ViewSettings.main else {
                throw .badRequest(
                    "views: a name has \(LayoutDocument.nameRule), and is not \(ViewSettings.main), which is the room's own view"
                )
            }
            if let fault = view?.fault { throw .badRequest("views.\(name).\(fault)") }
            views[name] = view
        }
        if views.count > ViewSettings.most { throw .badRequest("views: at most \(ViewSettings.most)") }
        return views
    }
}
