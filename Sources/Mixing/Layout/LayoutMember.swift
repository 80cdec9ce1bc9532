/// The properties of a participant that a layout uses.
public struct LayoutMember: Hashable, Sendable {
    /// The roles of participants that have a tile.
    public enum Role: String, Hashable, Sendable, CaseIterable {
        case participant, presenter, moderator
    }

    public var id: String
    public var name = ""
    /// The identity in the participant's token; nil without a token.
    public var externalID: String?
    public var role = Role.participant
    /// Whether the participant is the active speaker.
    public var isSpeaker: Bool
    /// 0 for the participant who spoke last, 1 for the one before, and so on; nil for one who never spoke.
    public var speakerRank: Int?
    /// 0 for the loudest participant; nil for one who never spoke.
    public var loudnessRank: Int?
    public var isPresenting: Bool
    /// Ascending in the order in which presenters began.
    public var presentOrder = 0
    /// Ascending in the order of pins; nil for one who is not pinned.
    public var pinOrder: Int?
    public var hasVideo: Bool
    /// Width / height of the sent picture as displayed.
    public var aspectRatio: Double
    /// Ascending in the order of joining.
    public var joinOrder: Int

    public init(
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

    public var isPinned: Bool { pinOrder != nil }

    func fits(_ reservation: Layout.Reservation) -> Bool {
        switch reservation {
        case .name(let name): self.name.lowercased() == name.lowercased()
        case .externalID(let id): externalID == id
        case .role(let role): self.role == role
        }
    }
}
