import Codecs

/// The arrangement of a room's picture: a list of rules, of which the first applies whose condition the participants
/// meet.
///
/// All lengths are fractions of the canvas, so one layout serves every canvas size. `layouts/schema.json` describes the
/// JSON form, `Layout.parse` reads it, and `arrange` makes tiles of it.
public struct Layout: Hashable, Sendable {
    public var name: String
    public var description: String
    /// The colour of gaps and empty places.
    public var background: Colour
    /// The distance between tiles, as a fraction of the canvas height.
    public var gap: Double
    /// Whether tiles show their participant's name, unless the region overrides it.
    public var names: Bool
    /// The most tiles at once.
    public var maxTiles: Int
    public var rules: [Rule]

    /// Whether the layout itself has rules for a presenting.
    public var hasPresentingRules: Bool { rules.contains { $0.condition.presenting != nil } }

    /// The largest value of `maxTiles`: with more, tiles are too small to see.
    public static let largestMaxTiles = 100

    /// Whether a layout can have this name: 1 to 64 of a-z, 0-9, `-` and `_`, so that the name can be part of a file
    /// name and of a URL without escaping.
    public static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
            }
    }

    /// The arrangement of the canvas while a condition holds.
    public struct Rule: Hashable, Sendable {
        public var condition: Condition
        public var regions: [Region]
    }

    /// The condition of a rule; an empty one always holds.
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

    /// Which participant a slot shows.
    public enum Role: String, Hashable, Sendable, CaseIterable {
        case speaker, presenter, pinned, any
    }

    /// A part of the canvas and the participants it shows. Regions are filled in their order; nobody is shown twice.
    public struct Region: Hashable, Sendable {
        public var kind: Kind
        /// The frame, in fractions of the canvas.
        public var x, y, width, height: Double
        public var fit: TileFit
        public var names: Bool?
        /// Regions overlap only where a higher layer lies on a lower one.
        public var layer: Int
    }

    /// How a region arranges its tiles.
    public enum Kind: Hashable, Sendable {
        /// One tile that fills the frame, for the first of `roles` that a participant has.
        case slot(roles: [Role])
        /// All remaining participants in rows of equal tiles, the block centred in the frame. With `columns` nil, the
        /// number of columns that gives the largest tiles.
        case grid(columns: Int?, maxTiles: Int?, aspect: Aspect)
        /// As many remaining participants as fit, in one row or column of tiles as thick as the frame.
        case strip(direction: Direction, align: Alignment, maxTiles: Int?, aspect: Aspect)
    }

    /// The direction in which a strip runs.
    public enum Direction: String, Hashable, Sendable, CaseIterable {
        case row, column
    }

    /// The position of a strip's tiles when they do not fill it.
    public enum Alignment: String, Hashable, Sendable, CaseIterable {
        case start, center, end
    }

    /// The range of aspect ratios (width / height) of tiles; the largest tile that fits is used.
    public struct Aspect: Hashable, Sendable {
        public var narrowest, widest: Double

        public static let wide = Aspect(narrowest: 16.0 / 9, widest: 16.0 / 9)
        /// Tiles fill their cell, whatever its aspect ratio.
        public static let fill = Aspect(narrowest: 0, widest: .infinity)

        /// The largest size in a cell with an aspect ratio in the range.
        func largest(in width: Double, _ height: Double) -> (width: Double, height: Double) {
            if width > height * widest { return (height * widest, height) }
            if width < height * narrowest { return (width, width / narrowest) }
            return (width, height)
        }
    }
}

/// How a picture is placed in a tile of another aspect ratio.
public enum TileFit: String, Hashable, Sendable, CaseIterable {
    /// The whole picture, with bars or a blurred backdrop at the sides.
    case contain
    /// The picture fills the tile and is cropped evenly.
    case cover
    /// `cover` where that crops little, otherwise `contain`; a shared screen is always whole.
    case auto
}

/// The properties of a participant that a layout uses.
public struct LayoutMember: Hashable, Sendable {
    public var id: String
    /// Whether the participant is the active speaker.
    public var isSpeaker: Bool
    /// 0 for the participant who spoke last, 1 for the one before, and so on; nil for one who never spoke.
    public var speakerRank: Int?
    public var isPresenting: Bool
    public var isPinned: Bool
    public var hasVideo: Bool
    /// Width / height of the sent picture as displayed.
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

/// One participant's rectangle on the canvas, in pixels; all four numbers are even, so that chroma has whole samples.
public struct Tile: Hashable, Sendable {
    public var member: String
    public var x, y, width, height: Int
    public var fit: TileFit
    /// The stacking order: a higher tile covers a lower one.
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
