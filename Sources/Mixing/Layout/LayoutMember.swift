/// The properties of a participant that a layout uses.
package struct LayoutMember: Hashable, Sendable {
    /// The roles of participants that have a tile.
    package enum Role: String, Hashable, Sendable, CaseIterable {
        case participant, presenter, moderator
    }

    package var id: String
    package var name = ""
    /// The identity in the participant's token; nil without a token.
    package var externalID: String?
    package var role = Role.participant
    /// Whether the participant is the active speaker.
    package var isSpeaker: Bool
    /// 0 for the participant who spoke last, 1 for the one before, and so on; nil for one who never spoke.
    package var speakerRank: Int?
    /// 0 for the loudest participant; nil for one who never spoke.
    package var loudnessRank: Int?
    package var isPresenting: Bool
    /// Ascending in the order in which presenters began.
    package var presentOrder = 0
    /// Ascending in the order of pins; nil for one who is not pinned.
    package var pinOrder: Int?
    package var hasVideo: Bool
    /// Width / height of the sent picture as displayed.
    package var aspectRatio: Double
    /// Ascending in the order of joining.
    package var joinOrder: Int

    package init(
        id: String, isSpeaker: Bool = false, speakerRank: Int? = nil, isPresenting: Bool = false, pinOrder: Int? = nil,
        hasVideo: Bool = true, aspectRatio: Double = 16.0 / 9, joinOrder: Int
    ) {
        self.id = id
        self.isSpeaker = isSpeaker
        self.speakerRank = speakerRank
        self.isPresenting = isPresenting
        self.pinOrder = pinOrder
        self.hasVideo = hasVideo
        self.aspectRatio = aspectRatio
        self.joinOrder = joinOrder
    }

    package var isPinned: Bool { pinOrder != nil }

    func fits(_ reservation: Layout.Reservation) -> Bool {
        switch reservation {
        case .name(let name): self.name.lowercased() == name.lowercased()
        case .externalID(let id): externalID == id
        case .role(let role): self.role == role
        }
    }
}
