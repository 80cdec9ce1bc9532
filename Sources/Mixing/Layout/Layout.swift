import Codecs

/// How the picture of a room is arranged: a list of rules, of which the first that fits the people present applies.
///
/// Everything is in fractions of the canvas, so one layout serves every canvas size. The JSON form is described by
/// `layouts/schema.json` and read by `Layout.parse`; `arrange` makes tiles of it.
public struct Layout: Hashable, Sendable {
    public var name: String
    public var description: String
    /// What shows in gaps and where nobody is.
    public var background: Colour
    /// Pixels between tiles, as a fraction of the canvas height.
    public var gap: Double
    /// Whether tiles carry their participant's name, where the region does not say otherwise.
    public var names: Bool
    /// At most this many tiles at once.
    public var maxTiles: Int
    public var rules: [Rule]

    /// The largest value that `maxTiles` may have: more tiles than this are too small to see.
    public static let largestMaxTiles = 100

    /// Whether a layout can have this name: 1 to 64 of a-z, 0-9, `-` and `_`, so that it is a file's name and part of
    /// an address as it stands.
    public static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
            }
    }

    /// What the canvas looks like while a condition holds.
    public struct Rule: Hashable, Sendable {
        public var condition: Condition
        public var regions: [Region]
    }

    /// When a rule applies; an empty one always does.
    public struct Condition: Hashable, Sendable {
        public var minPeople: Int?
        public var maxPeople: Int?
        /// Whether somebody presents a screen.
        public var presenting: Bool?
        /// Whether somebody is pinned.
        public var pinned: Bool?

        func matches(people: Int, presenting: Bool, pinned: Bool) -> Bool {
            people >= minPeople ?? 0 && people <= maxPeople ?? .max
                && self.presenting ?? presenting == presenting && self.pinned ?? pinned == pinned
        }
    }

    /// Who belongs in a slot.
    public enum Role: String, Hashable, Sendable, CaseIterable {
        case speaker, presenter, pinned, any
    }

    /// A part of the canvas and who is shown there. Regions are filled in their order; nobody is shown twice.
    public struct Region: Hashable, Sendable {
        public var kind: Kind
        /// The frame, in fractions of the canvas.
        public var x, y, width, height: Double
        public var fit: TileFit
        public var names: Bool?
        /// Regions overlap only where a higher layer lies on a lower one.
        public var layer: Int
    }

    /// How a region arranges those whom it shows.
    public enum Kind: Hashable, Sendable {
        /// One tile that fills the frame, for the first of `roles` that somebody has.
        case slot(roles: [Role])
        /// Everyone left, in rows of equal tiles, the block centred in the frame. `columns` nil: as the tiles become
        /// largest.
        case grid(columns: Int?, maxTiles: Int?, aspect: Aspect)
        /// Everyone left, in one line of tiles as thick as the frame, as many as fit.
        case strip(direction: Direction, align: Alignment, maxTiles: Int?, aspect: Aspect)
    }

    /// Along which side of its frame a strip runs.
    public enum Direction: String, Hashable, Sendable, CaseIterable {
        case row, column
    }

    /// Where the tiles of a strip stand when they do not fill it.
    public enum Alignment: String, Hashable, Sendable, CaseIterable {
        case start, center, end
    }

    /// The shape of tiles: width / height within the range, the largest that fits.
    public struct Aspect: Hashable, Sendable {
        public var narrowest, widest: Double

        public static let wide = Aspect(narrowest: 16.0 / 9, widest: 16.0 / 9)
        /// Tiles fill their cell, whatever shape it has.
        public static let fill = Aspect(narrowest: 0, widest: .infinity)

        /// The largest size of this shape inside a cell.
        func largest(in width: Double, _ height: Double) -> (width: Double, height: Double) {
            if width > height * widest { return (height * widest, height) }
            if width < height * narrowest { return (width, width / narrowest) }
            return (width, height)
        }
    }
}

/// How a picture that has another shape than its tile is placed in it.
public enum TileFit: String, Hashable, Sendable, CaseIterable {
    /// Whole, with calm sides.
    case contain
    /// Filling, cropped evenly at the sides that stand over.
    case cover
    /// `cover` where that crops little, else `contain`; a screen is always whole.
    case auto
}

/// What a layout needs to know of one participant.
public struct LayoutMember: Hashable, Sendable {
    public var id: String
    /// The one who speaks now.
    public var isSpeaker: Bool
    /// 0 is who spoke last, 1 who before, and so on; nil who never did.
    public var speakerRank: Int?
    public var isPresenting: Bool
    public var isPinned: Bool
    public var hasVideo: Bool
    /// Width / height of what is sent, as displayed.
    public var aspectRatio: Double
    /// Ascending in the order of joining.
    public var joinOrder: Int

    public init(
        id: String, isSpeaker: Bool = false, speakerRank: Int? = nil, isPresenting: Bool = false,
        isPinned: Bool = false,
        hasVideo: Bool = true, aspectRatio: Double = 16.0 / 9, joinOrder: Int
    ) {
        self.id = id
        self.isSpeaker = isSpeaker
        self.speakerRank = speakerRank
        self.isPresenting = isPresenting
        self.isPinned = isPinned
        self.hasVideo = hasVideo
        self.aspectRatio = aspectRatio
        self.joinOrder = joinOrder
    }
}

/// One participant's place on the canvas, in pixels; all four are even, so that chroma falls on whole samples.
public struct Tile: Hashable, Sendable {
    public var member: String
    public var x, y, width, height: Int
    public var fit: TileFit
    /// Higher lies above.
    public var z: Int
    public var showsName: Bool

    public init(
        member: String, x: Int, y: Int, width: Int, height: Int, fit: TileFit = .auto, z: Int = 0,
        showsName: Bool = true
    ) {
        self.member = member
        self.x = x
        self.y = y
        self.width = width
        self.height = height
        self.fit = fit
        self.z = z
        self.showsName = showsName
    }

    var frame: PixelRectangle { PixelRectangle(x: x, y: y, width: width, height: height) }
}

extension PixelRectangle {
    func overlaps(_ other: PixelRectangle) -> Bool {
        x < other.x + other.width && other.x < x + width && y < other.y + other.height && other.y < y + height
    }
}
