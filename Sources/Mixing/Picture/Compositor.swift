public import Basics
public import Codecs

/// The content of a participant's tile.
public struct TileAppearance: Sendable {
    /// Whether the picture is live.
    public enum State: Sendable, Hashable {
        case live
        /// The last picture, dimmed and marked, because no new one was received for a while.
        case frozen
        /// Initials instead of a picture.
        case avatar
    }

    public var name: String
    /// The newest picture; nil shows the avatar.
    public var picture: Picture?
    /// How the picture must be rotated for display.
    public var rotation: Rotation
    /// A number that changes with every new picture.
    public var pictureGeneration: UInt64
    public var state: State
    public var isSpeaking: Bool
    public var isMuted: Bool
    public var handRaised: Bool

    public init(
        name: String, picture: Picture? = nil, rotation: Rotation = .none, pictureGeneration: UInt64 = 0,
        state: State = .live,
        isSpeaking: Bool = false, isMuted: Bool = false, handRaised: Bool = false
    ) {
        self.name = name
        self.picture = picture
        self.rotation = rotation
        self.pictureGeneration = pictureGeneration
        self.state = state
        self.isSpeaking = isSpeaking
        self.isMuted = isMuted
        self.handRaised = handRaised
    }
}

/// The style that all tiles share.
public struct CompositorStyle: Hashable, Sendable {
    /// The border of a speaking participant's tile.
    public var speaking = Colour(0x4ADE80)
    /// The largest part of a picture that `TileFit.auto` crops to fill the tile; in a 16:9 tile 3:2 loses 16 %, 4:3
    /// loses 25 %.
    public var largestCrop = 0.2
    /// The bars beside pictures that are shown whole on request, such as screens.
    public var bars = Colour(0x0B0D10)

    public init() {}
}

/// Draws a room's canvas from its tiles: only changed tiles are drawn, each scaled directly into the canvas.
///
/// Confined to one thread at a time. A picture that `compose` returned never changes again: the next one comes from the
/// pool, and the unchanged rest is copied into it (about 24 µs at 1280×720; scaling everything takes a third of a
/// millisecond). In the steady state only the picture's own object is allocated.
public final class Compositor {
    public let width: Int
    public let height: Int
    public let style: CompositorStyle
    /// The background of the layout; a change redraws the whole canvas.
    public var background: Colour

    /// The last composed picture; before the first it has the plain background.
    public private(set) var current: Picture

    private let pool: PicturePool
    private let painter: TilePainter
    private var shown: [Shown] = []
    private var shownBackground: Colour?
    private var changes: ChangeMap

    /// One tile of `current` and the state from which it was drawn.
    private struct Shown {
        var tile: Tile
        var look: Look
        var backdrop: Backdrop
    }

    /// `width` and `height` are rounded down to even pixels.
    public init(
        width: Int, height: Int, background: Colour = .canvas, style: CompositorStyle = CompositorStyle(),
        text: TextRenderer = .shared
    ) {
        self.width = max(2, width & ~1)
        self.height = max(2, height & ~1)
        self.background = background
        self.style = style
        pool = PicturePool(width: self.width, height: self.height, limit: 4)
        painter = TilePainter(canvasHeight: self.height, style: style, text: text)
        current = pool.make()
        current.fill(background)
        changes = ChangeMap(width: self.width, height: self.height)
    }

    /// Draws the canvas with these tiles; nil when it would be equal to the last one.
    ///
    /// - Parameters:
    ///   - tiles: the result of `Layout.arrange` for this canvas; tiles outside are skipped.
    ///   - appearance: called once for each tile, the lowest layer first.
    public func compose(tiles: [Tile], appearance: (String) -> TileAppearance) -> Picture? {
        let usable = tiles.filter { isInside($0) }
        let ordered = usable.contains { $0.z != usable[0].z } ? stableByLayer(usable) : usable
        let isNew =
            shownBackground != background || ordered.count != shown.count
            || !zip(ordered, shown).allSatisfy { $0 == $1.tile }
        if isNew {
            // A backdrop moves with its participant, so that it does not flash.
            let backdrops = Dictionary(
                shown.map { ($0.tile.member, $0.backdrop) }, uniquingKeysWith: { first, _ in first })
            shown = ordered.map { tile in
                var backdrop = backdrops[tile.member] ?? Backdrop()
                backdrop.fit(width: tile.width, height: tile.height)
                return Shown(tile: tile, look: Look.none, backdrop: backdrop)
            }
        }

        var canvas: Picture?
        if isNew {
            let fresh = pool.make()
            fresh.fill(background)
            canvas = fresh
            shownBackground = background
        }
        var redrawn: [PixelRectangle] = []
        for index in shown.indices {
            let tile = shown[index].tile
            let now = appearance(tile.member)
            let look = Look(now)
            guard look != shown[index].look || redrawn.contains(where: { $0.overlaps(tile.frame) }) else { continue }
            let target: Picture
            if let canvas {
                target = canvas
            } else {
                target = pool.make()
                target.replace(with: current)
                canvas = target
            }
            painter.paint(tile, now, &shown[index].backdrop, on: target)
            shown[index].look = look
            redrawn.append(tile.frame)
        }
        guard let canvas else { return nil }
        changes.advance()
        if isNew {
            changes.change(PixelRectangle(x: 0, y: 0, width: width, height: height))
        } else {
            for frame in redrawn { changes.change(frame) }
        }
        canvas.changes = changes
        current = canvas
        return canvas
    }

    private func isInside(_ tile: Tile) -> Bool {
        let isEven = (tile.x | tile.y | tile.width | tile.height) & 1 == 0
        return isEven && tile.x >= 0 && tile.y >= 0 && tile.width >= 2 && tile.height >= 2
            && tile.width <= width - tile.x
            && tile.height <= height - tile.y
    }

    private func stableByLayer(_ tiles: [Tile]) -> [Tile] {
        tiles.enumerated().sorted { ($0.element.z, $0.offset) < ($1.element.z, $1.offset) }.map(\.element)
    }
}

/// The state that determines a tile's pixels, apart from its place.
private struct Look: Equatable {
    var name: String
    var showsPicture: Bool
    var generation: UInt64
    var rotation: Rotation
    var state: TileAppearance.State
    var isSpeaking: Bool
    var isMuted: Bool
    var handRaised: Bool

    /// The look of a tile that was not drawn yet, which equals no real one.
    static let none = Look(TileAppearance(name: "\u{0}not drawn"))

    init(_ appearance: TileAppearance) {
        let showsPicture = appearance.picture != nil && appearance.state != .avatar
        name = appearance.name
        // New pictures behind an avatar are not visible.
        self.showsPicture = showsPicture
        generation = showsPicture ? appearance.pictureGeneration : 0
        rotation = showsPicture ? appearance.rotation : .none
        state = showsPicture ? appearance.state : .avatar
        isSpeaking = appearance.isSpeaking
        isMuted = appearance.isMuted
        handRaised = appearance.handRaised
    }
}

extension Picture {
    func fill(_ colour: Colour) {
        let (y, u, v) = colour.yuv
        fill(y: y, u: u, v: v)
    }

    func fill(_ rectangle: PixelRectangle, _ colour: Colour) {
        let (y, u, v) = colour.yuv
        fill(rectangle, y: y, u: u, v: v)
    }
}
