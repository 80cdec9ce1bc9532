import Codecs

/// The arrangement of a room's picture: a list of rules, of which the first applies whose condition the participants
/// meet.
///
/// All lengths are fractions of the canvas, so one layout serves every canvas size. `layouts/schema.json` describes the
/// JSON form, `Layout.parse` reads it, and `arrange` makes tiles of it.
package struct Layout: Hashable, Sendable {
    package var name: String
    package var description: String
    /// The description in other languages, by their tags (RFC 5646), such as `de`.
    package var descriptions: [String: String] = [:]
    /// The colour of gaps and empty places.
    package var background: Colour
    /// The distance between tiles, as a fraction of the canvas' shorter side.
    package var gap: Double
    /// Whether tiles show their participant's name, unless the region overrides it.
    package var names: Bool
    /// The most tiles at once.
    package var maxTiles: Int
    /// The seats of people in grids and strips.
    package var order: Order = .place
    /// Whether a picture that is made for one participant shows that participant.
    package var showsSelf = true
    package var withoutVideo: WithoutVideo = .show
    package var style = TileStyle()
    package var rules: [Rule]

    /// Whether the layout itself has rules for a presenting.
    package var hasPresentingRules: Bool { rules.contains { $0.condition.presenting != nil } }

    /// The largest value of `maxTiles`: with more, tiles are too small to see.
    package static let largestMaxTiles = 100

    /// Whether the layout shows pictures from files.
    var usesImages: Bool {
        rules.contains { rule in
            rule.regions.contains { region in if case .image = region.kind { true } else { false } }
        }
    }

    /// The arrangement of the canvas while a condition holds.
    package struct Rule: Hashable, Sendable {
        package var condition: Condition
        package var regions: [Region]
    }

    /// The condition of a rule; an empty one always holds.
    package struct Condition: Hashable, Sendable {
        package var minPeople: Int?
        package var maxPeople: Int?
        /// Whether somebody presents a screen.
        package var presenting: Bool?
        /// Whether somebody is pinned.
        package var pinned: Bool?
        package var canvas: CanvasShape?

        func matches(people: Int, presenting: Bool, pinned: Bool, canvas: CanvasShape) -> Bool {
            people >= minPeople ?? 0 && people <= maxPeople ?? .max
                && self.presenting ?? presenting == presenting && self.pinned ?? pinned == pinned
                && self.canvas ?? canvas == canvas
        }
    }

    /// The shape of the canvas. A square is `landscape`.
    package enum CanvasShape: String, Hashable, Sendable, CaseIterable {
        case landscape, portrait

        init(width: Int, height: Int) { self = height > width ? .portrait : .landscape }
    }

    /// The order of seats in grids and strips.
    package enum Order: String, Hashable, Sendable, CaseIterable {
        /// People keep their places as far as possible.
        case place
        /// Who joined first comes first.
        case joining
        /// By name.
        case name
        /// The loudest first, as `LayoutMember.loudnessRank` says.
        case loudness
    }

    /// What becomes of people without a picture.
    package enum WithoutVideo: String, Hashable, Sendable, CaseIterable {
        case show
        /// Their tiles come after all others.
        case last
        /// They have no tile unless they are pinned, or nobody has a picture.
        case hide
    }

    /// What a participant does in the meeting, by which a slot chooses.
    package enum Role: String, Hashable, Sendable, CaseIterable {
        case speaker, presenter, pinned, any
    }

    /// Who may take a reserved slot.
    package enum Reservation: Hashable, Sendable {
        /// A participant with this name, in any case of its letters.
        case name(String)
        /// The participant with this identity in its token (claim `sub`).
        case externalID(String)
        /// A participant that holds this role. A holder of the role `presenter` need not share a screen.
        case role(LayoutMember.Role)
    }

    /// A part of the canvas and the participants it shows. Regions are filled in their order; nobody is shown twice.
    package struct Region: Hashable, Sendable {
        package var kind: Kind
        /// The frame, in fractions of the canvas.
        package var x, y, width, height: Double
        package var fit: TileFit
        package var names: Bool?
        /// Regions overlap only where a higher layer lies on a lower one.
        package var layer: Int

        /// Whether participants are shown in it.
        var holdsPeople: Bool {
            switch kind {
            case .text, .image: false
            case .slot, .grid, .strip: true
            }
        }
    }

    /// How a region arranges its tiles.
    package enum Kind: Hashable, Sendable {
        /// One tile that fills the frame, for the first of `reserved` who is present, otherwise for the first of
        /// `roles` that a participant has.
        case slot(reserved: [Reservation], roles: [Role])
        /// All remaining participants in rows of equal tiles, the block centred in the frame. With `columns` nil, the
        /// number of columns that gives the largest tiles.
        case grid(columns: Int?, maxTiles: Int?, aspect: Aspect, more: Bool)
        /// As many remaining participants as fit, in one row or column of tiles as thick as the frame.
        case strip(direction: Direction, align: Alignment, maxTiles: Int?, aspect: Aspect, more: Bool)
        /// A line of text without a participant.
        case text(LayoutText)
        /// A picture from a file.
        case image(LayoutImage)
    }

    /// The direction in which a strip runs.
    package enum Direction: String, Hashable, Sendable, CaseIterable {
        case row, column
    }

    /// The position of a strip's tiles when they do not fill it.
    package enum Alignment: String, Hashable, Sendable, CaseIterable {
        case start, center, end
    }

    /// The range of aspect ratios (width / height) of tiles; the largest tile that fits is used.
    package struct Aspect: Hashable, Sendable {
        package var narrowest, widest: Double

        package static let wide = Aspect(narrowest: 16.0 / 9, widest: 16.0 / 9)
        /// Tiles fill their cell, whatever its aspect ratio.
        package static let fill = Aspect(narrowest: 0, widest: .infinity)

        /// The largest size in a cell with an aspect ratio in the range.
        func largest(in width: Double, _ height: Double) -> (width: Double, height: Double) {
            if width > height * widest { return (height * widest, height) }
            if width < height * narrowest { return (width, width / narrowest) }
            return (width, height)
        }
    }
}

/// How a picture is placed in a tile of another aspect ratio.
package enum TileFit: String, Hashable, Sendable, CaseIterable {
    /// The whole picture, with bars or a blurred backdrop at the sides.
    case contain
    /// The picture fills the tile and is cropped evenly; a shared screen is whole nevertheless.
    case cover
    /// `cover` where that crops little, otherwise `contain`.
    case auto

    /// The largest part of a picture that `auto` crops; in a 16:9 tile 3:2 loses 16 %, 4:3 loses 25 %.
    package static let largestCrop = 0.2
}
