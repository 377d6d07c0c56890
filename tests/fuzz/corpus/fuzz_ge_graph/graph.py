# -*- coding: utf-8 -*-
from torch import tensor
