# What charts, tables and containers hold, as data: for clients that ask for it beside the forms that people look at, in the
# shapes of E2B's code interpreter. Compiled with the first such value.
import datetime, math, re

most_values = 200000                            # of a chart or a table, which is left out beyond

def plain_value(value):
    """The value as JSON has it: a number, a text or nothing."""
    if hasattr(value, 'dtype') and getattr(value, 'ndim', 0) == 0:
        value = str(value.astype('datetime64[s]')) if value.dtype.kind == 'M' else value.item()
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat() if value == value else None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)

def note_excess(kind, count):
    print('A display has no %s: it has %d values, and at most %d are shown.' % (kind, count, most_values), file=sys.stderr)

def table_of(frame):
    if frame.size > most_values:
        return note_excess('e2b/data', frame.size)
    return {str(name): [plain_value(value) for value in column] for name, column in frame.to_dict(orient='list').items()}

# Artists of axes

def artists(axes):
    return [*axes.lines, *axes.patches, *axes.collections, *axes.images, *axes.tables, *axes.artists]

def is_grid_line(artist):
    if not is_one_of(artist, 'matplotlib.lines', 'Line2D') or len(artist.get_xdata()) != 2:
        return False
    (left, right), (bottom, top) = artist.get_xdata(), artist.get_ydata()
    return bool(left == right or bottom == top)

def kind_of_axes(axes):
    def consist_of(those, *kinds):
        return all(any(is_one_of(each, 'matplotlib.' + module, name) for module, name in kinds) for each in those)
    line = 'lines', 'Line2D'
    all_of_it = artists(axes)
    if consist_of(all_of_it, line):
        return 'line'
    if consist_of(all_of_it, line, ('patches', 'PathPatch')):
        return 'box_and_whisker'
    rest = [each for each in all_of_it if not is_grid_line(each)]
    for kind, *shape in (('scatter', 'collections', 'PathCollection'), ('pie', 'patches', 'Wedge'), ('bar', 'patches', 'Rectangle')):
        if consist_of(rest, shape):
            return kind
    return 'unknown'

# What stands behind a label in brackets is its unit.
def labels_of(axes):
    labels = {'x_label': axes.get_xlabel() or None, 'y_label': axes.get_ylabel() or None}
    for name in 'xy':
        unit = re.search(r'\s\((.*?)\)|\[(.*?)\]', labels[name + '_label'] or '')
        labels[name + '_unit'] = unit and (unit.group(1) or unit.group(2))
    return labels

# Bars and boxes that lie on their side: x is the axis of the categories.
def with_categories_first(labels, upright):
    if upright:
        return labels
    return {('y' if name[0] == 'x' else 'x') + name[1:]: value for name, value in labels.items()}

def converter_of(axis):
    return axis.get_converter() if hasattr(axis, 'get_converter') else axis.converter

def is_of_dates(axis):
    module = type(converter_of(axis)).__module__
    return module == 'matplotlib.dates' or module.startswith('pandas.plotting')

def iso_date(number):
    return sys.modules['matplotlib.dates'].num2date(number).isoformat()

def scale_of(axis, ticks, texts):
    if is_of_dates(axis):
        return 'datetime'
    if axis.get_scale() != 'linear':
        return axis.get_scale()
    named = all(tick == at and text != str(at) for at, (tick, text) in enumerate(zip(ticks, texts)))
    return 'categorical' if named else 'linear'

def ticks_of(name, axis):
    places, texts = axis.get_majorticklocs(), [label.get_text() for label in axis.get_ticklabels()]
    ticks = [iso_date(place) if is_of_dates(axis) else plain_value(place) for place in places]
    return {name + '_ticks': ticks, name + '_tick_labels': texts, name + '_scale': scale_of(axis, ticks, texts)}

def name_at(axis, place):
    """The text of the tick that stands for this place, where the axis has one for each; the place itself elsewhere."""
    texts = [(abs(tick - place), label.get_text()) for tick, label in zip(axis.get_majorticklocs(), axis.get_ticklabels())]
    is_fixed = any(is_one_of(axis.get_major_locator(), *kind) for kind in (('matplotlib.ticker', 'FixedLocator'), ('matplotlib.category', 'StrCategoryLocator')))
    distance, text = min(texts, default=(1, ''))
    return text if texts and (is_fixed or distance < 1e-9) else iso_date(place) if is_of_dates(axis) else '%g' % place

def points_of(xs, ys, of_dates=(False, False)):
    def column(values, dates):
        return [iso_date(value) if dates and isinstance(value, (int, float)) else plain_value(value) for value in values]
    return [list(point) for point in zip(column(xs, of_dates[0]), column(ys, of_dates[1]))]

def lines_of(axes):
    for line in axes.lines:
        if not is_grid_line(line):
            label = line.get_label()
            yield {'label': 'Line ' + label[6:] if re.fullmatch(r'_child\d+', label) else label, 'points': points_of(line.get_xdata(), line.get_ydata())}

def clouds_of(axes):
    of_dates = is_of_dates(axes.xaxis), is_of_dates(axes.yaxis)
    for cloud in axes.collections:
        offsets = cloud.get_offsets()
        yield {'label': cloud.get_label(), 'points': points_of(offsets[:, 0].tolist(), offsets[:, 1].tolist(), of_dates)}

def point_chart(axes, elements):
    return {**labels_of(axes), **ticks_of('x', axes.xaxis), **ticks_of('y', axes.yaxis), 'elements': list(elements)}

def bar_chart(axes):
    bars = [each for each in axes.containers if is_one_of(each, 'matplotlib.container', 'BarContainer')]
    upright = all(getattr(each, 'orientation', 'vertical') != 'horizontal' for each in bars)
    elements = []
    for each in bars:
        label = each.get_label()
        group = 'Group ' + label[10:] if re.fullmatch(r'_container\d+', label) else label
        for bar in each:
            middle = bar.get_x() + bar.get_width() / 2 if upright else bar.get_y() + bar.get_height() / 2
            elements.append({'label': name_at(axes.xaxis if upright else axes.yaxis, middle), 'group': group,
                             'value': plain_value(bar.get_height() if upright else bar.get_width())})
    return {**with_categories_first(labels_of(axes), upright), 'elements': elements}

# Sums of single precision: 323.99997 degrees are 324.
def pie_chart(axes):
    return {'elements': [{'label': wedge.get_label(), 'angle': abs(float('%.6g' % (wedge.theta2 - wedge.theta1))), 'radius': plain_value(wedge.r)}
                         for wedge in axes.patches]}

# Boxes: a line across is the median, one that begins in the middle of an edge a whisker, and points behind the whiskers are outliers.

def near(one, other):
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)

def box_of(patch, lines, upright):
    corners = patch.get_path().vertices
    across, along = (corners[:, 0], corners[:, 1]) if upright else (corners[:, 1], corners[:, 0])
    left, right, low, high = float(min(across)), float(max(across)), float(min(along)), float(max(along))
    box = {'min': low, 'first_quartile': low, 'median': None, 'third_quartile': high, 'max': high, 'outliers': []}
    for line, places, values in lines:
        if line.get_linestyle() == 'None':
            box['outliers'] += [value for place, value in zip(places, values) if near(place, (left + right) / 2) and not low <= value <= high]
        elif len(places) == 2 and near(values[0], values[1]) and low <= values[0] <= high and near(min(places), left) and near(max(places), right):
            box['median'] = values[0]
        elif len(places) == 2 and near(places[0], places[1]) and near(places[0], (left + right) / 2):
            if near(max(values), low):
                box['min'] = min(values)
            elif near(min(values), high):
                box['max'] = max(values)
    return (left + right) / 2, box

def boxes_of(axes, upright):
    lines = [(line, line.get_xdata(orig=False).tolist(), line.get_ydata(orig=False).tolist()) for line in axes.lines]
    return [box_of(patch, [(line, xs, ys) if upright else (line, ys, xs) for line, xs, ys in lines], upright) for patch in axes.patches]

def box_chart(axes):
    upright = any(box['median'] is not None for middle, box in boxes_of(axes, True))
    axis = axes.xaxis if upright else axes.yaxis
    return {**with_categories_first(labels_of(axes), upright), 'elements': [{'label': name_at(axis, middle), **box} for middle, box in boxes_of(axes, upright)]}

def chart_of_axes(axes):
    kind = kind_of_axes(axes)
    content = (point_chart(axes, lines_of(axes)) if kind == 'line' else point_chart(axes, clouds_of(axes)) if kind == 'scatter' else bar_chart(axes) if kind == 'bar'
               else pie_chart(axes) if kind == 'pie' else box_chart(axes) if kind == 'box_and_whisker' else {'elements': []})
    return {'type': kind, 'title': axes.get_title() or None, **content}

def count_of_values(axes):
    return sum(len(line.get_xdata()) for line in axes.lines) + sum(len(cloud.get_offsets()) for cloud in axes.collections) + len(axes.patches)

def chart_of(figure):
    all_axes = figure.get_axes()
    if not any(axes.has_data() for axes in all_axes):
        return None
    count = sum(map(count_of_values, all_axes))
    if count > most_values:
        return note_excess('e2b/chart', count)
    if len(all_axes) == 1:
        return chart_of_axes(all_axes[0])
    title = getattr(figure, '_suptitle', None)
    return {'type': 'superchart', 'title': title and title.get_text(), 'elements': [chart_of_axes(axes) for axes in all_axes]}

def own_json(value):
    try:
        return json.loads(json_bytes(value)) if len(value) <= most_values else None
    except (TypeError, ValueError, RecursionError):
        return None                             # its text says what it is

def data_forms(value):
    """{mime type: data} of what the value holds."""
    if type(value) in (dict, list):
        forms = {'application/json': own_json(value)}
    elif is_one_of(value, 'pandas', 'DataFrame'):
        forms = {'e2b/data': table_of(value)}
    else:
        forms = {'e2b/chart': chart_of(value)} if is_one_of(value, 'matplotlib.figure', 'Figure') else {}
    for name, kind in (('_repr_e2b_data_', 'e2b/data'), ('_repr_e2b_chart_', 'e2b/chart')):
        method = method_of(value, name)
        if method:
            forms[kind] = form_of(method)
    return {kind: data for kind, data in forms.items() if data is not None}
