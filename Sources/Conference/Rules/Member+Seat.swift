import RoomMedia

extension RoomState.Seat {
    init(_ member: Member) {
        self.init(id: member.id, name: member.name, role: member.role)
        isProven = member.roleIsProven
        order = member.joinOrder
        (audio, video, hand) = (member.audioOn, member.videoOn, member.hand)
        (audioMuted, videoMuted) = (member.audioMuted, member.videoMuted)
        (pinOrder, volume) = (member.pinOrder, member.volume)
        unrecordedBy = member.unrecordedBy.sorted().map(\.rawValue)
        view = member.viewName
        (ownLayout, ownPins) = (member.choice?.layout, member.choice?.pins ?? [])
        (identity, avatar) = (member.externalID, member.avatarName)
        (hostKey, mayHost) = (member.hostKey?.digest, member.mayHost)
        drawsSigns = member.drawsSigns
        handOrder = member.hand ? member.handOrder : nil
    }
}

extension Member {
    /// Takes over what the room remembers of the member. Its view and its own choice follow, since they have limits.
    mutating func restore(_ seat: RoomState.Seat) {
        (audioOn, videoOn, hand) = (seat.audio, seat.video, seat.hand)
        (audioMuted, videoMuted) = (seat.audioMuted, seat.videoMuted)
        (pinOrder, volume) = (seat.pinOrder, seat.volume)
        unrecordedBy.formUnion(seat.unrecordedBy.compactMap { RecordingRefusal(rawValue: $0) })
        (externalID, avatarName) = (seat.identity, seat.avatar)
        (mayHost, drawsSigns) = (seat.mayHost, seat.drawsSigns)
        handOrder = seat.handOrder ?? 0
    }

    /// Whether the member looks different in the stored state of its room.
    func differsInState(from old: Member) -> Bool { RoomState.Seat(self) != RoomState.Seat(old) }
}
